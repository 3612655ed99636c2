#include "runtime/kernels/common/pitched.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/plan/interleaved.h"

namespace onnx_cudnn {
namespace {

Pitched PitchedOf(const Kernel& kernel, const Unit& unit) {
  return kernel.pitched == nullptr ? Pitched::kNone : kernel.pitched(unit);
}
bool HasInputs(Pitched pitched) { return pitched == Pitched::kInputs || pitched == Pitched::kAll; }
bool HasOutputs(Pitched pitched) {
  return pitched == Pitched::kOutputs || pitched == Pitched::kAll;
}

// Whether `format` is `dense` but for foreign lanes between its pixels, whose own lanes are whole
// vectors, and begin at such.
bool IsPitched(const Value& value, const Format& format, const Format& dense) {
  if (value.rank() < 3 || format.WithoutForeignLanes() != dense) return false;
  const std::optional<int64_t> pitch = PixelPitch(format, value.dims());
  const auto is_whole = [&](int64_t lanes) {
    return BytesOf(value.dtype(), lanes) % kPartAlignment == 0;
  };
  return pitch.has_value() && is_whole(*pitch) && is_whole(value.dim(1));
}

// The Formats with those operands interleaved that a Concat joins.
std::vector<Format> Interleaved(const std::vector<const Value*>& values,
                                std::vector<Format> formats) {
  for (size_t i = 0; i < values.size(); ++i) {
    std::optional<Format> within = InterleavedFormat(*values[i]);
    if (within.has_value() && IsPitched(*values[i], *within, formats[i])) {
      formats[i] = *std::move(within);
    }
  }
  return formats;
}

bool Lies(const Value& value, const Format& found, const Format& wanted, bool pitched) {
  return found == wanted || (pitched && IsPitched(value, found, wanted));
}

bool AllLie(const std::vector<const Value*>& values, const std::vector<Placement>& found,
            const std::vector<Format>& wanted, bool pitched) {
  if (found.size() != wanted.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!Lies(*values[i], found[i].format, wanted[i], pitched)) return false;
  }
  return true;
}

}  // namespace

Pitched PitchedInputs(const Unit&) { return Pitched::kInputs; }
Pitched PitchedInputsAndOutputs(const Unit&) { return Pitched::kAll; }

std::vector<Formats> WithPitches(const Kernel& kernel, const Unit& unit, const Formats& formats) {
  std::vector<Formats> all = {formats};
  const Pitched pitched = PitchedOf(kernel, unit);
  if (pitched == Pitched::kNone) return all;
  Formats both = formats;
  if (HasInputs(pitched)) both.inputs = Interleaved(unit.boundary.inputs, both.inputs);
  if (HasOutputs(pitched)) both.outputs = Interleaved(unit.boundary.outputs, both.outputs);
  for (const Formats& one :
       {Formats{both.inputs, formats.outputs}, Formats{formats.inputs, both.outputs}, both}) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all;
}

bool LiesWithPitches(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
                     const Formats& formats) {
  const Pitched pitched = PitchedOf(kernel, unit);
  return AllLie(unit.boundary.inputs, candidate.inputs, formats.inputs, HasInputs(pitched)) &&
         AllLie(unit.boundary.outputs, candidate.outputs, formats.outputs, HasOutputs(pitched));
}

}  // namespace onnx_cudnn
