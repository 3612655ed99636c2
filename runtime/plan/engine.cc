#include "runtime/plan/engine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/ops/conv_shape.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

DType ComputeTypeOf(const Node& node) {
  for (const Value* v : node.inputs()) {
    if (v != nullptr) return v->dtype();
  }
  for (const Value* v : node.outputs()) {
    if (v != nullptr) return v->dtype();
  }
  return DType::kUndefined;
}

double FlopsPerUs(DType dtype, const Target& target) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return target.info.f16_flops_per_us;
  if (dtype == DType::kF32 && target.numerics.tf32) return target.info.tf32_flops_per_us;
  return target.info.f32_flops_per_us;
}

int64_t BytesOfPlaced(const std::vector<const Value*>& values,
                      const std::vector<Placement>& placements) {
  int64_t bytes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    bytes += placements[i].format.own_bytes(values[i]->dtype());
  }
  return bytes;
}

bool Contains(const std::vector<const Node*>& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// How many pixels a Conv skips between two that it reads, over all axes: a window of one pixel
// skips by its strides.
int64_t SkipsOf(const Node& conv) {
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok() || shape->window.kernel_size() != 1) return 1;
  return std::max<int64_t>(shape->in_size() / std::max<int64_t>(shape->out_size(), 1), 1);
}

// The bytes of all inputs, minus those that convolutions skip.
int64_t BytesRead(const Boundary& boundary, const Candidate& candidate) {
  int64_t bytes = BytesOfPlaced(boundary.inputs, candidate.inputs);
  for (const Node* node : candidate.nodes) {
    if (node->op() != "Conv" || !node->domain().empty()) continue;
    const Value& x = node->input(0);
    const auto at = std::find(boundary.inputs.begin(), boundary.inputs.end(), &x);
    const auto is_read_by_others = [&](const Use& use) {
      return use.node != node && Contains(candidate.nodes, use.node);
    };
    if (at == boundary.inputs.end()) continue;
    if (std::any_of(x.uses().begin(), x.uses().end(), is_read_by_others)) continue;
    const Format& format = candidate.inputs[at - boundary.inputs.begin()].format;
    const int64_t of_x = format.own_bytes(x.dtype());
    bytes -= of_x - of_x / SkipsOf(*node);
  }
  return bytes;
}

// The bytes of all constants; of a table that Gathers alone read, those that they take.
int64_t BytesOfConstants(const Boundary& boundary, const Candidate& candidate) {
  int64_t bytes = 0;
  for (const Value* constant : boundary.constants) {
    const int64_t all = constant->constant().bytes();
    int64_t taken = 0;
    for (const Use& use : constant->uses()) {
      if (!Contains(candidate.nodes, use.node)) continue;
      const bool is_table = use.node->op() == "Gather" && use.node->domain().empty() &&
                            use.index == 0 && use.node->output(0).is_static();
      taken += is_table ? use.node->output(0).bytes() : all;
    }
    bytes += std::min(taken, all);
  }
  return bytes;
}

Placement RowMajorIn(const Value& value, Space space) {
  return {.format = Format::RowMajor(value.is_static() ? value.dims() : Dims()), .space = space};
}

}  // namespace

Cost Engine::Price(const Candidate& candidate, const Target& target) const {
  return Roofline(candidate, target);
}

absl::StatusOr<std::vector<Variant>> Engine::Variants(const Candidate&, const Target&) const {
  return std::vector<Variant>{{.text = ""}};
}

absl::StatusOr<std::shared_ptr<const Step>> Engine::Load(std::string_view, const Candidate&,
                                                         const Target&) const {
  return absl::UnimplementedError(absl::StrCat("engine ", name(), " saves no steps"));
}

std::vector<int64_t> ChannelMultiples(int64_t channels, DType dtype) {
  constexpr int64_t kVectorBits = 128;  // width of a thread's load
  std::vector<int64_t> multiples = {1};
  if (!kFloatTypes.Has(dtype)) return multiples;
  int64_t padded = channels;
  for (const int64_t multiple : {4, 8}) {
    const int64_t extent = (channels + multiple - 1) / multiple * multiple;
    if (multiple * BitsOf(dtype) > kVectorBits || extent == padded) continue;
    multiples.push_back(multiple);
    padded = extent;
  }
  return multiples;
}

std::vector<Format> FormatChoices(const Value& value, const Target& target) {
  if (!value.is_static()) return {Format()};
  const Dims dims = value.dims();
  std::vector<Format> choices = {Format::RowMajor(dims)};
  const bool on_gpu = target.info.compute_capability > 0;
  if (!on_gpu || dims.size() < 3 || BitsOf(value.dtype()) < 8) return choices;
  for (const int64_t multiple : ChannelMultiples(dims[1], value.dtype())) {
    Format format = Format::ChannelsLast(dims, multiple);
    if (std::find(choices.begin(), choices.end(), format) != choices.end()) continue;
    choices.push_back(std::move(format));
  }
  return choices;
}

Candidate RowMajorCandidate(const Engine& engine, const Node& node, Space space,
                            const Target& target) {
  Candidate candidate{.nodes = {&node}, .engine = &engine};
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (const Value* v : boundary.inputs) candidate.inputs.push_back(RowMajorIn(*v, space));
  for (const Value* v : boundary.outputs) candidate.outputs.push_back(RowMajorIn(*v, space));
  candidate.cost = engine.Price(candidate, target);
  return candidate;
}

Cost Roofline(const Candidate& candidate, const Target& target, const Efficiency& efficiency) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  Cost cost;
  double arithmetic_us = 0;
  for (const Node* node : candidate.nodes) {
    const int64_t flops = CostOf(*node).flops;
    cost.flops += flops;
    arithmetic_us += static_cast<double>(flops) / FlopsPerUs(ComputeTypeOf(*node), target);
  }
  cost.bytes = BytesRead(boundary, candidate) + BytesOfConstants(boundary, candidate) +
               BytesOfPlaced(boundary.outputs, candidate.outputs);
  const double traffic_us = static_cast<double>(cost.bytes) / target.info.bytes_per_us;
  cost.us = std::max(arithmetic_us / efficiency.arithmetic, traffic_us / efficiency.traffic) +
            target.info.launch_us + efficiency.fixed_us;
  return cost;
}

}  // namespace onnx_cudnn
