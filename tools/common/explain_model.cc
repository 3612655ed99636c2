#include "tools/common/explain_model.h"

#include <utility>

#include "passes/shape_buckets/pad_lengths.h"
#include "runtime/base/status.h"
#include "runtime/session/buckets/bucket_runner.h"
#include "runtime/session/check_options.h"

namespace onnx_cudnn {
namespace {

using NamedDims = std::map<std::string, Dims, std::less<>>;

// The Program of buckets. Unimplemented or FailedPrecondition: exact dims serve the inputs.
absl::StatusOr<ModelExplanation> ExplainPadded(const Graph& graph, const NamedDims& dims,
                                               const BucketChoice& choice, const Target& target,
                                               BuildOptions build) {
  std::vector<Dims> exact;
  for (const Value* input : graph.inputs()) exact.push_back(dims.at(input->name()));
  ASSIGN_OR_RETURN(const PaddedGraph padded, PadLengths(graph, exact, choice, build));
  RETURN_IF_ERROR(LengthsOf(padded, exact).status());
  build.input_values.clear();
  build.body_target = nullptr;  // as in a Session
  ModelExplanation explained;
  ASSIGN_OR_RETURN(explained.program, Explain(padded.graph, {}, target, build));
  for (size_t i = 0; i < exact.size(); ++i) {
    const Value& input = *padded.graph.inputs()[i];
    if (input.dims() != exact[i]) explained.padded[input.name()] = input.dims();
  }
  return explained;
}

}  // namespace

absl::StatusOr<ModelExplanation> ExplainModel(const Graph& graph,
                                              const std::vector<ValueInfo>& infos,
                                              const NamedDims& dims,
                                              const std::vector<std::string>& shape_buckets,
                                              const Target& target, const BuildOptions& build) {
  RETURN_IF_ERROR(CheckShapeBuckets({.shape_buckets = shape_buckets}, infos));
  ModelExplanation exact;
  const BucketChoice choice = PaddedInputDims(shape_buckets);
  if (choice.all || !choice.symbols.empty()) {
    absl::StatusOr<ModelExplanation> padded = ExplainPadded(graph, dims, choice, target, build);
    if (padded.ok() || absl::IsCancelled(padded.status())) return padded;
    exact.note = padded.status().message();
  }
  ASSIGN_OR_RETURN(exact.program, Explain(graph, dims, target, build));
  return exact;
}

}  // namespace onnx_cudnn
