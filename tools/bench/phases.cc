// onnx-cudnn-phases MODEL TARGET PARTITIONER: prints the milliseconds of each phase from the file
// to a Program as one line of JSON. Dims that are not numbers are 1.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "passes/build_program.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/engines.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

// Accumulates the search time of this process; a Partitioner is a plain function without state.
double search_ms = 0;

template <absl::StatusOr<std::vector<Candidate>> (*Search)(const Stretch&)>
absl::StatusOr<std::vector<Candidate>> Timed(const Stretch& stretch) {
  const absl::Time start = absl::Now();
  absl::StatusOr<std::vector<Candidate>> chosen = Search(stretch);
  search_ms += MsSince(start);
  return chosen;
}

std::map<std::string, Dims, std::less<>> InputDims(const Graph& graph) {
  std::map<std::string, Dims, std::less<>> dims;
  for (const Value* input : graph.inputs()) {
    Dims& of_input = dims[input->name()];
    for (int i = 0; i < input->rank(); ++i) of_input.push_back(std::max<int64_t>(input->dim(i), 1));
  }
  return dims;
}

absl::StatusOr<nlohmann::ordered_json> Measure(const std::string& model, const std::string& target,
                                               Partitioner partitioner) {
  nlohmann::ordered_json report;
  ASSIGN_OR_RETURN(const OwnedTarget owned, MakeTarget(target));
  absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(Graph graph, LoadModel(model));
  report["load_ms"] = MsSince(start);
  report["nodes"] = graph.node_count();

  start = absl::Now();
  PassContext context{.target = &owned.target, .functions = &kOnnxFunctions};
  RETURN_IF_ERROR(RunPasses(graph, MakePipeline(2), {}, context).status());
  report["rewrite_ms"] = MsSince(start);

  start = absl::Now();
  ASSIGN_OR_RETURN(const auto program,
                   BuildProgram(graph, InputDims(graph), owned.target,
                                {.partitioner = partitioner, .functions = &kOnnxFunctions}));
  report["search_ms"] = search_ms;
  report["plan_ms"] = MsSince(start) - search_ms;
  report["partitions"] = program->partitions.size();
  return report;
}

constexpr std::string_view kTool = "onnx-cudnn-phases";

int Main(int argc, char** argv) {
  if (argc != 4) return Fail(kTool, "expected a model, a target and greedy or cost", kExitUsage);
  const Partitioner partitioner =
      std::string_view(argv[3]) == "cost" ? Timed<CostSearch> : Timed<Greedy>;
  const absl::StatusOr<nlohmann::ordered_json> report = Measure(argv[1], argv[2], partitioner);
  if (!report.ok()) return Fail(kTool, report.status());
  std::cout << report->dump() << "\n";
  return kExitDone;
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}
