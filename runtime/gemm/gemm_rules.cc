#include "runtime/gemm/gemm_rules.h"

#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

class GemmRules final : public Engine {
 public:
  std::string_view name() const override { return "gemm"; }

  void Propose(const Graph&, const Node& anchor, const Target&,
               CandidateSink& sink) const override {
    sink.No(*this, anchor, "no rule takes it");
  }

  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::No("no rule takes it");
  }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    return CompileReference(candidate);
  }
};

}  // namespace

std::unique_ptr<Engine> MakeGemmRules() { return std::make_unique<GemmRules>(); }

}  // namespace onnx_cudnn
