#include "runtime/exec/host_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/graph/conversion.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/known_devices.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

double ReferenceUs(const Cost& cost) {
  static const DeviceInfo& host = *new DeviceInfo(Host());
  const double arithmetic_us =
      static_cast<double>(cost.blas_flops) / host.f32_flops_per_us +
      static_cast<double>(cost.flops - cost.blas_flops) / host.calibration.host.loop_flops_per_us;
  const double traffic_us = static_cast<double>(cost.bytes) / host.bytes_per_us;
  return std::max(arithmetic_us, traffic_us) + cost.us +
         static_cast<double>(cost.calls) * host.launch_us;
}

Support CheckValues(absl::Span<Value* const> values) {
  for (const Value* v : values) {
    if (v == nullptr || (v->is_static() && BitsOf(v->dtype()) > 0)) continue;
    return Support::No(
        absl::StrCat("value ", v->name(), " is ", ToString(v->type()), ", not a static tensor"));
  }
  return Support::Yes();
}

class HostEngine final : public Engine {
 public:
  explicit HostEngine(Space space) : space_(space) {}

  std::string_view name() const override { return "host"; }

  void Propose(const Graph& graph, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    if (IsConversion(anchor)) {
      return sink.No(*this, anchor, "its formats are chosen with the partitions around it");
    }
    Support support = CheckNode(anchor);
    if (!support) return sink.No(*this, anchor, support.reason());
    Candidate candidate = RowMajorCandidate(*this, anchor, space_, target);
    support = Check(graph, candidate, target);
    if (!support) return sink.No(*this, anchor, support.reason());
    sink.Add(std::move(candidate));
  }

  Support Check(const Graph&, const Candidate& candidate, const Target&) const override {
    if (candidate.nodes.size() != 1) return Support::No("host runs one node at a time");
    const Node& node = *candidate.nodes[0];
    Support support = CheckNode(node);
    if (!support) return support;
    if (IsConversion(node)) return CheckReformat(candidate);
    const Boundary boundary = BoundaryOf(candidate.nodes);
    support = CheckRowMajor(boundary.inputs, candidate.inputs);
    return support ? CheckRowMajor(boundary.outputs, candidate.outputs) : support;
  }

  // The Target's rates are those of its GPU; in addition, the GPU's streams wait for the host.
  Cost Price(const Candidate& candidate, const Target& target) const override {
    const Node& node = *candidate.nodes[0];
    Cost cost = CostOf(node);
    // Including padding.
    if (IsConversion(node)) cost.bytes = Roofline(candidate, target).bytes;
    cost.us = ReferenceUs(cost) + (space_ == Space::kHost ? target.info.host_us : 0);
    return cost;
  }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    return CompileReference(candidate);
  }

 private:
  static Support CheckNode(const Node& node) {
    for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
      Support support = CheckValues(values);
      if (!support) return support;
    }
    if (IsConversion(node)) return Support::Yes();
    if (Support support = CheckOp(node); !support) return support;
    return FindOp(node)->reference != nullptr
               ? Support::Yes()
               : Support::No("the shapes of its outputs depend on data");
  }

  Support CheckReformat(const Candidate& candidate) const {
    if (space_ == Space::kDevice) return Support::Yes();
    for (const auto* placements : {&candidate.inputs, &candidate.outputs}) {
      for (const Placement& p : *placements) {
        if (p.space != Space::kHost) return Support::No("an operand is on the device");
      }
    }
    return Support::Yes();
  }

  Support CheckRowMajor(const std::vector<const Value*>& values,
                        const std::vector<Placement>& placements) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (placements[i].space != space_) {
        return Support::No(absl::StrCat(values[i]->name(), " is in the other memory"));
      }
      if (placements[i].format != Format::RowMajor(values[i]->dims())) {
        return Support::No(absl::StrCat(values[i]->name(), " is not row-major"));
      }
    }
    return Support::Yes();
  }

  const Space space_;
};

}  // namespace

std::unique_ptr<Engine> MakeHostEngine(Space space) { return std::make_unique<HostEngine>(space); }

}  // namespace onnx_cudnn
