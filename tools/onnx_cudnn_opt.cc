// onnx-cudnn-opt: rewrites a model and says what each pass did.
#include <iostream>
#include <map>
#include <new>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/engines.h"
#include "runtime/graph/print.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "tools/common/exit_codes.h"
#include "tools/common/flags.h"

ABSL_FLAG(int, level, 2,
          "The pipeline: 0 only what running needs, 1 clean-up, 2 what moves arithmetic. -O0, -O1 "
          "and -O2 are short for it.");
ABSL_FLAG(std::vector<std::string>, passes, {},
          "These passes in this order, instead of a pipeline.");
ABSL_FLAG(std::vector<std::string>, disable_passes, {}, "Passes of the pipeline to leave out.");
ABSL_FLAG(std::string, print_after, "", "Prints the whole graph after this pass.");
ABSL_FLAG(bool, print, false, "Prints the whole graph at the end.");
ABSL_FLAG(bool, remarks, false, "Prints where a pass did not apply, and why.");
ABSL_FLAG(std::string, output, "", "Writes the rewritten model there. -o is short for it.");

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-opt";
constexpr std::string_view kUsage =
    R"(onnx-cudnn-opt MODEL [flags]: rewrites an ONNX model and says what each pass did.

  onnx-cudnn-opt resnet50.onnx                                          the passes of -O2, their changes and times
  onnx-cudnn-opt resnet50.onnx -O1 -o smaller.onnx
  onnx-cudnn-opt model.onnx --passes fold-constants,dead-code --print
  onnx-cudnn-opt model.onnx --disable-passes fold-batch-norm --remarks
  onnx-cudnn-opt model.onnx --print-after fold-batch-norm

Exit codes: 0 done, 1 usage, 2 model invalid, 3 valid but not supported, 6 out of memory, 7 internal.)";

struct Options {
  std::string model;
  int level;
  std::vector<std::string> passes, disabled;
  std::string print_after, output;
  bool print, remarks;
};

absl::Status CheckPassName(const std::string& name) {
  const std::vector<std::string> names = PassNames();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("unknown pass \"%s\", expected one of: %s",
                                                    name, absl::StrJoin(names, ", ")));
}

absl::StatusOr<Options> OptionsFromFlags(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("expected one model file, found %d, see --help", arguments.size()));
  }
  Options options{.model = arguments[0],
                  .level = absl::GetFlag(FLAGS_level),
                  .passes = absl::GetFlag(FLAGS_passes),
                  .disabled = absl::GetFlag(FLAGS_disable_passes),
                  .print_after = absl::GetFlag(FLAGS_print_after),
                  .output = absl::GetFlag(FLAGS_output),
                  .print = absl::GetFlag(FLAGS_print),
                  .remarks = absl::GetFlag(FLAGS_remarks)};
  if (options.level < 0 || options.level > 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--level: expected 0 to 2, found %d", options.level));
  }
  for (const std::string& name : options.passes) RETURN_IF_ERROR(CheckPassName(name));
  for (const std::string& name : options.disabled) RETURN_IF_ERROR(CheckPassName(name));
  if (!options.print_after.empty()) RETURN_IF_ERROR(CheckPassName(options.print_after));
  return options;
}

void CountOps(const Graph& graph, std::map<std::string, int>& counts) {
  for (const Node* node : graph.TopologicalOrder()) {
    ++counts[node->domain().empty() ? node->op() : absl::StrCat(node->domain(), ".", node->op())];
    for (const auto& [name, body] : node->bodies()) CountOps(*body, counts);
  }
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* value : graph.Values()) {
    if (value->is_constant() && value->dtype() != DType::kString)
      bytes += value->constant().bytes();
  }
  return bytes;
}

void PrintSummary(const Graph& graph) {
  for (const Value* input : graph.inputs()) {
    std::cout << "input   " << input->name() << " " << ToString(input->type()) << "\n";
  }
  for (const GraphOutput& output : graph.outputs()) {
    std::cout << "output  " << output.name << " " << ToString(output.value->type()) << "\n";
  }
  std::map<std::string, int> counts;
  CountOps(graph, counts);
  std::cout << absl::StreamFormat("graph   %d nodes, %d bytes of constants\n", graph.node_count(),
                                  ConstantBytes(graph));
  for (const auto& [op, count] : counts) std::cout << absl::StreamFormat("  %5d  %s\n", count, op);
}

void PrintRun(const PassRun& run) {
  std::cout << absl::StreamFormat("pass    %-20s %-9s %8.2f ms  %d -> %d nodes\n", run.name,
                                  run.changed ? "changed" : "no change", run.ms, run.nodes_before,
                                  run.nodes_after);
}

absl::StatusOr<std::vector<std::unique_ptr<Pass>>> ChosenPasses(const Options& options) {
  if (options.passes.empty()) return MakePipeline(options.level);
  return MakePasses(options.passes);
}

absl::Status Rewrite(Graph& graph, const Options& options) {
  ASSIGN_OR_RETURN(const OwnedTarget owned, MakeTarget("cpu"));
  std::vector<Remark> remarks;
  PassContext context{.target = &owned.target, .remarks = options.remarks ? &remarks : nullptr};
  PassManagerOptions manager;
  manager.disabled.insert(options.disabled.begin(), options.disabled.end());
  manager.after_pass = [&](const PassRun& run, const Graph& after) {
    PrintRun(run);
    if (run.name == options.print_after) std::cout << Print(after);
  };
  ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Pass>> passes, ChosenPasses(options));
  RETURN_IF_ERROR(RunPasses(graph, passes, manager, context).status());
  for (const Remark& remark : remarks) {
    std::cout << "remark  " << remark.pass << ": " << remark.where << ": " << remark.reason << "\n";
  }
  return absl::OkStatus();
}

absl::Status Optimize(const Options& options) {
  ASSIGN_OR_RETURN(Graph graph, LoadModel(options.model));
  const absl::Status rewritten = Rewrite(graph, options);
  if (!rewritten.ok()) return Annotate(rewritten, options.model);
  PrintSummary(graph);
  if (options.print) std::cout << Print(graph);
  if (options.output.empty()) return absl::OkStatus();
  return WriteModelFile(graph, options.output);
}

std::vector<std::string> WithoutShortFlags(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "-o") argument = "--output";
    if (argument == "-O0" || argument == "-O1" || argument == "-O2") {
      argument = absl::StrCat("--level=", argument.substr(2));
    }
  }
  return arguments;
}

int Main(int argc, char** argv) {
  const std::string usage =
      absl::StrCat(kUsage, "\n\nPasses: ", absl::StrJoin(PassNames(), ", "), ".");
  absl::StatusOr<std::vector<std::string>> arguments =
      ParseFlags(WithoutShortFlags({argv, argv + argc}), usage, "onnx_cudnn_opt.cc");
  if (!arguments.ok()) return Fail(kTool, arguments.status().message(), kExitUsage);
  const absl::StatusOr<Options> options = OptionsFromFlags(*arguments);
  if (!options.ok()) return Fail(kTool, options.status().message(), kExitUsage);
  if (absl::Status status = Optimize(*options); !status.ok()) return Fail(kTool, status);
  return kExitDone;
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  try {
    return onnx_cudnn::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return onnx_cudnn::Fail("onnx-cudnn-opt", "out of host memory", onnx_cudnn::kExitOutOfMemory);
  }
}
