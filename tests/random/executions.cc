#include "tests/random/executions.h"

#include <map>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "passes/build_program.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/import/expand_function.h"
#include "runtime/ops/evaluate.h"
#include "runtime/session/engines.h"
#include "tests/random/compare.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

const Target& TargetNamed(const std::string& name) {
  static auto& targets = *new std::map<std::string, OwnedTarget>;
  if (const auto it = targets.find(name); it != targets.end()) return it->second.target;
  absl::StatusOr<OwnedTarget> made = MakeTarget(name);
  CHECK_OK(made.status());
  return targets.emplace(name, *std::move(made)).first->second.target;
}

absl::StatusOr<Answer> Rewritten(const RandomCase& c,
                                 const std::vector<std::unique_ptr<Pass>>& passes) {
  Graph graph = c.graph.Clone();
  PassContext context{.target = &TargetNamed("h200"), .functions = &kOnnxFunctions};
  ASSIGN_OR_RETURN(const std::vector<PassRun> runs,
                   RunPasses(graph, passes, {.verify = VerifyWhen::kAfterEachPass}, context));
  Answer answer{.acted = false};
  for (const PassRun& run : runs) answer.acted |= run.changed;
  ASSIGN_OR_RETURN(answer.outputs, Evaluate(graph, c.Inputs()));
  return answer;
}

// A Program of `graph` on the CPU device; inputs and outputs are the case's.
absl::StatusOr<Answer> Programmed(const RandomCase& c, const Graph& graph, const Target& target,
                                  Partitioner partitioner) {
  ASSIGN_OR_RETURN(
      const std::shared_ptr<const Program> program,
      BuildProgram(graph, {}, target,
                   {.partitioner = partitioner, .streams = 2, .functions = &kOnnxFunctions}));
  const std::unique_ptr<Device> device = MakeCpuDevice({.interleave_seed = 1, .poison = true});
  ConstantStore constants(*device);
  ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                   Executor::Create(program, *device, constants));
  ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, RunOn(*executor, c.Inputs()));
  return Answer{.outputs = std::move(outputs)};
}

DType LowestOf(std::string_view pass) {
  if (pass == "lower-precision-fp16") return DType::kF16;
  if (pass == "lower-precision-bf16") return DType::kBF16;
  return DType::kF32;
}

Execution ByProgram(const std::string& target, const std::string& search, Partitioner partitioner) {
  return {absl::StrCat(target, "-", search), [=](const RandomCase& c) {
            return Programmed(c, c.graph, TargetNamed(target), partitioner);
          }};
}

// Like a Session: rewritten, then partitioned for the GPU.
absl::StatusOr<Answer> RewrittenAndProgrammed(const RandomCase& c) {
  Graph graph = c.graph.Clone();
  PassContext context{.target = &TargetNamed("h200"), .functions = &kOnnxFunctions};
  RETURN_IF_ERROR(RunPasses(graph, MakePipeline(2), {}, context).status());
  return Programmed(c, graph, TargetNamed("h200"), CostSearch);
}

}  // namespace

Execution ByPasses(std::string name, std::function<std::vector<std::unique_ptr<Pass>>()> make) {
  return {std::move(name),
          [make = std::move(make)](const RandomCase& c) { return Rewritten(c, make()); }};
}

std::vector<Execution> AllExecutions() {
  std::vector<Execution> executions;
  for (const std::string& name : PassNames()) {
    executions.push_back(ByPasses(name, [name] { return *MakePasses({name}); }));
    executions.back().lowest = LowestOf(name);
  }
  for (const int level : {0, 1, 2}) {
    executions.push_back(
        ByPasses(absl::StrCat("O", level), [level] { return MakePipeline(level); }));
  }
  for (const char* target : {"cpu", "h200"}) {
    executions.push_back(ByProgram(target, "greedy", Greedy));
    executions.push_back(ByProgram(target, "cost", CostSearch));
  }
  executions.push_back({"O2-h200-cost", RewrittenAndProgrammed});
  return executions;
}

std::string DifferenceOf(const RandomCase& c, const absl::StatusOr<Answer>& answer) {
  if (!answer.ok()) return std::string(answer.status().message());
  const std::vector<HostTensor> expected = c.Outputs();
  if (answer->outputs.size() != expected.size()) return "another number of outputs";
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string difference =
        Difference(expected[i], answer->outputs[i], ToleranceOf(expected[i].dtype(), c.lowest));
    if (!difference.empty()) return absl::StrCat(c.graph.outputs()[i].name, ": ", difference);
  }
  return "";
}

}  // namespace onnx_cudnn
