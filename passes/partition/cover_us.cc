// Predicted times of covers and Reformats.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "passes/partition/cost_search.h"

namespace onnx_cudnn {
namespace {

// The Placements of one Value in a cover.
struct Lies {
  const Placement* made_as = nullptr;
  std::vector<const Placement*> wanted;
};

}  // namespace

double ReformatUs(const Value& value, const Placement& from, const Placement& to,
                  const DeviceInfo& info) {
  const int64_t read = from.format.own_bytes(value.dtype());
  const int64_t written = to.format.own_bytes(value.dtype());
  if (from.space != to.space) return TransferUs(written, info);
  return static_cast<double>(read + written) / info.bytes_per_us + info.launch_us;
}

double ConversionsUs(const Value& value, const Placement* made_as,
                     absl::Span<const Placement* const> wanted, const DeviceInfo& info) {
  double us = 0;
  std::vector<const Placement*> there;
  if (made_as != nullptr) there.push_back(made_as);
  for (const Placement* want : wanted) {
    const auto is_same = [&](const Placement* placement) { return *placement == *want; };
    if (std::any_of(there.begin(), there.end(), is_same)) continue;
    if (!there.empty()) us += ReformatUs(value, *there[0], *want, info);
    there.push_back(want);
  }
  return us;
}

double CoverUs(const Stretch& stretch, absl::Span<const Candidate> cover) {
  absl::flat_hash_map<const Value*, Lies> lies;
  double us = 0;
  for (const auto& [value, placement] : stretch.produced) lies[value].made_as = &placement;
  for (const auto& [value, placement] : stretch.demanded) lies[value].wanted.push_back(&placement);
  for (const Candidate& c : cover) {
    us += c.cost.us;
    const Boundary boundary = BoundaryOf(c.nodes);
    for (size_t i = 0; i < boundary.outputs.size(); ++i) {
      lies[boundary.outputs[i]].made_as = &c.outputs[i];
    }
    for (size_t i = 0; i < boundary.inputs.size(); ++i) {
      lies[boundary.inputs[i]].wanted.push_back(&c.inputs[i]);
    }
  }
  for (const auto& [value, l] : lies) {
    us += ConversionsUs(*value, l.made_as, l.wanted, stretch.target.info);
  }
  return us;
}

}  // namespace onnx_cudnn
