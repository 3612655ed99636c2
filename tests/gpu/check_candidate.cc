#include "tests/gpu/check_candidate.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kLibraryVariants = 2;  // each takes tenths of a second to build
constexpr int kTraceRepeats = 10;

// Number of runs of each variant that must be bit-identical: ONNX_CUDNN_RUNS=N, default two.
int EqualRuns() {
  const char* runs = std::getenv("ONNX_CUDNN_RUNS");
  return runs == nullptr ? 2 : std::atoi(runs);
}

bool Traces() { return std::getenv("ONNX_CUDNN_TRACE") != nullptr; }

bool IsOwn(const Engine& engine) { return engine.name() == "kernel"; }

class Checker {
 public:
  Checker(const CandidateCheck& check, const std::vector<HostTensor>& inputs,
          std::vector<HostTensor> expected)
      : check_(check), inputs_(inputs), expected_(std::move(expected)) {}

  absl::Status CheckVariant(const Variant& variant) {
    const Candidate& candidate = check_.candidate;
    where_ = absl::StrCat(candidate.engine->name(), " ", Describe(candidate), " ", variant.text);
    if (Traces()) std::cerr << where_ << std::endl;
    ASSIGN_OR_RETURN(const Compiled compiled,
                     candidate.engine->Compile(candidate, variant, check_.target));
    if (compiled.step() == nullptr) {
      result_.refused.push_back(absl::StrCat(where_, ": ", compiled.reason()));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(candidate, compiled.step(),
                                                           check_.device, check_.constants));
    using Padding = StepRunner::Padding;
    ASSIGN_OR_RETURN(const StepResult first, runner->Run(inputs_, Padding::kZero));
    CheckOutputs(first);
    for (int run = 2; run <= EqualRuns(); ++run) {
      ASSIGN_OR_RETURN(const StepResult other, runner->Run(inputs_, Padding::kZero));
      CheckEqual(first, other, absl::StrCat("run ", run));
    }
    // A library's convolution multiplies padding by zero weights, which would propagate NaN.
    if (IsOwn(*candidate.engine)) {
      ASSIGN_OR_RETURN(const StepResult third, runner->Run(inputs_, Padding::kPoison));
      CheckEqual(first, third, "a run over poisoned padding");
    }
    ++result_.ran;
    if (!Traces()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const double us, runner->MeasureUs(kTraceRepeats));
    std::cerr << absl::StrFormat("  %.2f us, predicted %.2f us\n", us, candidate.cost.us);
    return absl::OkStatus();
  }
  CandidateResult TakeResult() { return std::move(result_); }

 private:
  void Wrong(std::string what) { result_.wrong.push_back(absl::StrCat(where_, ": ", what)); }

  void CheckOutputs(const StepResult& run) {
    for (size_t i = 0; i < expected_.size(); ++i) {
      Tolerance tolerance =
          ToleranceOf(check_.candidate.nodes, expected_[i].dtype(), check_.target.numerics.tf32);
      tolerance.relative = std::max(tolerance.relative, check_.least_tolerance);
      tolerance.absolute = std::max(tolerance.absolute, check_.least_tolerance);
      const std::string what = Differs(run.outputs[i], expected_[i], tolerance);
      if (!what.empty()) Wrong(absl::StrCat("output ", i, " ", what));
    }
    if (!run.padding_is_zero) Wrong("padding lanes are not zero");
    if (!run.foreign_is_kept) Wrong("lanes of others were written");
  }

  void CheckEqual(const StepResult& first, const StepResult& other, std::string_view what) {
    for (size_t i = 0; i < first.outputs.size(); ++i) {
      if (SameContent(first.outputs[i], other.outputs[i])) continue;
      Wrong(absl::StrCat("output ", i, " has other bits in ", what));
    }
  }

  const CandidateCheck& check_;
  const std::vector<HostTensor>& inputs_;
  const std::vector<HostTensor> expected_;
  CandidateResult result_;
  std::string where_;
};

}  // namespace

absl::StatusOr<CandidateResult> CheckCandidate(const CandidateCheck& check,
                                               const std::vector<HostTensor>& inputs) {
  const Candidate& candidate = check.candidate;
  const Boundary boundary = BoundaryOf(candidate.nodes);
  std::vector<HostTensor> sources = inputs, expected;
  for (const Value* v : boundary.constants) sources.push_back(v->constant());
  if (!check.expects_error) {
    ASSIGN_OR_RETURN(expected, Evaluate(Extract(candidate.nodes), sources));
  }
  ASSIGN_OR_RETURN(std::vector<Variant> variants,
                   candidate.engine->Variants(candidate, check.target));
  if (!IsOwn(*candidate.engine) && variants.size() > kLibraryVariants && !Traces()) {
    variants.resize(kLibraryVariants);
  }
  Checker checker(check, inputs, std::move(expected));
  for (const Variant& variant : variants) RETURN_IF_ERROR(checker.CheckVariant(variant));
  return checker.TakeResult();
}

}  // namespace onnx_cudnn
