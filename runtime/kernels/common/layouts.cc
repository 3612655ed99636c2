#include "runtime/kernels/common/layouts.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int kChannels = 1;  // the channel dim
constexpr std::array kDense = {Layout::kRowMajor, Layout::kChannelsLast};
constexpr std::array kAll = {Layout::kRowMajor, Layout::kChannelsLast, Layout::kChannelsLast4,
                             Layout::kChannelsLast8};

const Value& Largest(const Boundary& boundary) {
  const Value* best = boundary.outputs[0];
  for (const auto* values : {&boundary.inputs, &boundary.outputs}) {
    for (const Value* v : *values) {
      if (v->rank() < best->rank()) continue;
      if (v->rank() > best->rank() || v->elements() > best->elements()) best = v;
    }
  }
  return *best;
}

// The Format of one operand given that of the largest; nullopt if no Engine may propose it.
std::optional<Format> Place(const Value& value, const Value& largest, Layout layout,
                            const Target& target) {
  if (value.rank() != largest.rank()) layout = Layout::kRowMajor;
  if (layout == Layout::kRowMajor) return InLayout(value, layout);
  const bool is_broadcast = value.dim(kChannels) == 1 && largest.dim(kChannels) > 1;
  Format format = InLayout(value, is_broadcast ? Layout::kChannelsLast : layout);
  const std::vector<Format> choices = FormatChoices(value, target);
  if (std::find(choices.begin(), choices.end(), format) == choices.end()) return std::nullopt;
  return format;
}

std::optional<std::vector<Format>> PlaceAll(const std::vector<const Value*>& values,
                                            const Value& largest, Layout layout,
                                            const Target& target) {
  std::vector<Format> formats;
  for (const Value* v : values) {
    std::optional<Format> format = Place(*v, largest, layout, target);
    if (!format) return std::nullopt;
    formats.push_back(*std::move(format));
  }
  return formats;
}

std::vector<Formats> InOneOf(absl::Span<const Layout> layouts, const Unit& unit,
                             const Target& target) {
  const Value& largest = Largest(unit.boundary);
  std::vector<Formats> found;
  for (const Layout layout : layouts) {
    if (layout != Layout::kRowMajor && largest.rank() < 3) break;
    auto inputs = PlaceAll(unit.boundary.inputs, largest, layout, target);
    auto outputs = PlaceAll(unit.boundary.outputs, largest, layout, target);
    if (!inputs || !outputs) continue;
    Formats formats{*std::move(inputs), *std::move(outputs)};
    if (std::find(found.begin(), found.end(), formats) == found.end()) {
      found.push_back(std::move(formats));
    }
  }
  return found;
}

std::vector<Formats> FromTo(const Unit& unit, Layout from, Layout to) {
  Formats formats;
  for (const Value* v : unit.boundary.inputs) formats.inputs.push_back(InLayout(*v, from));
  for (const Value* v : unit.boundary.outputs) formats.outputs.push_back(InLayout(*v, to));
  return {formats};
}

}  // namespace

Format InLayout(const Value& value, Layout layout) {
  if (layout == Layout::kRowMajor) return Format::RowMajor(value.dims());
  return Format::ChannelsLast(value.dims(), static_cast<int64_t>(layout));
}

std::vector<Formats> RowMajorOnly(const Unit& unit, const Target& target) {
  return InOneOf(absl::MakeConstSpan(kDense).first(1), unit, target);
}

std::vector<Formats> OneLayout(const Unit& unit, const Target& target) {
  return InOneOf(kAll, unit, target);
}

std::vector<Formats> OneDenseLayout(const Unit& unit, const Target& target) {
  return InOneOf(kDense, unit, target);
}

std::vector<Formats> ChannelsLastOnly(const Unit& unit, const Target& target) {
  return InOneOf(absl::MakeConstSpan(kDense).last(1), unit, target);
}

std::vector<Formats> ChannelsLastToRowMajor(const Unit& unit, const Target& /*target*/) {
  return FromTo(unit, Layout::kChannelsLast, Layout::kRowMajor);
}

std::vector<Formats> RowMajorToChannelsLast(const Unit& unit, const Target& /*target*/) {
  return FromTo(unit, Layout::kRowMajor, Layout::kChannelsLast);
}

std::vector<Formats> AlongAxis(const Unit& unit, const Target& target, int64_t otherwise) {
  const Node& node = unit.node();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", otherwise), node.input(0).rank());
  return axis == kChannels ? OneLayout(unit, target) : RowMajorOnly(unit, target);
}

}  // namespace onnx_cudnn
