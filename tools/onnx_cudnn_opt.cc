// onnx-cudnn-opt: rewrites a model and reports what each pass changed, or explains how the model
// will run and why.
#include <iostream>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_library.h"
#include "runtime/graph/print.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/session/check_options.h"
#include "runtime/session/engines.h"
#include "tools/common/compile.h"
#include "tools/common/exit_codes.h"
#include "tools/common/explain_graph.h"
#include "tools/common/flags.h"
#include "tools/common/graph_summary.h"
#include "tools/common/inputs.h"
#include "tools/common/plan_flags.h"
#include "tools/common/report_page.h"
#include "tools/common/tune.h"
#include "tools/common/write_rewritten.h"

ABSL_FLAG(int, level, 2,
          "Level of graph rewrites. 0: only those that running needs; 1: clean-up; 2: also "
          "rewrites that change arithmetic, such as folding BatchNormalization into Conv. -O0, "
          "-O1 and -O2 are short for it.");
ABSL_FLAG(std::vector<std::string>, passes, {},
          "Runs these passes in this order, instead of a level.");
ABSL_FLAG(std::vector<std::string>, op_library, {}, onnx_cudnn::kOpLibraryHelp);
ABSL_FLAG(std::vector<std::string>, disable_passes, {},
          "Passes of the level to leave out, by name.");
ABSL_FLAG(std::string, print_after, "", "Prints the whole graph after this pass.");
ABSL_FLAG(bool, print, false, "Prints the whole graph at the end.");
ABSL_FLAG(bool, remarks, false, "Prints where a pass did not apply, and why.");
ABSL_FLAG(
    std::string, output, "",
    "File for the rewritten model; NAME.ocp for a model compiled for --target, which every "
    "program and API loads in place of MODEL. -o is short for it. Only together with --explain "
    "each node's metadata have its partition, engine and formats, which Netron shows.");
ABSL_FLAG(int, opset, 0,
          "With --output: the opset of the written model, 6 to 28; exit code 3 if an op needs a "
          "later one. 0: the model's own, or the next later one in which every op can be written; "
          "the report names it.");
ABSL_FLAG(bool, explain, false,
          "Explains how the model will run on --target, and why: each partition with its "
          "predicted time and its lower bound, for each edge that is not fused the rule that "
          "prevents it, the cost of layout changes, and memory. Needs no GPU.");
ABSL_FLAG(std::string, json, "", "With --explain: a file for the complete explanation as JSON.");
ABSL_FLAG(std::string, report, "", absl::StrCat("With --explain: ", onnx_cudnn::kReportHelp));
ABSL_FLAG(bool, verbose, false,
          "With --explain: prints every partition, edge and buffer, and the live bytes at each "
          "launch.");
ABSL_FLAG(std::string, target, "cpu",
          "The device that the model will run on: cpu; h200, with measured prices; a10, a100, "
          "b200, h100, l4 or rtx4090, with roofline prices from published peaks.");
ABSL_FLAG(std::string, capability, "", onnx_cudnn::kCapabilityHelp);
ABSL_FLAG(std::string, input, "",
          "With --explain: values of an input that decides shapes, once per input: shape=8,-1, "
          "or a .npy file; the values alone if the model has one input.")
    .OnUpdate([] {
      onnx_cudnn::Append(absl::GetFlag(FLAGS_input), onnx_cudnn::GivenInputs().sources);
    });
ABSL_FLAG(std::string, shape, "", onnx_cudnn::kShapeHelp).OnUpdate([] {
  onnx_cudnn::AppendShape(absl::GetFlag(FLAGS_shape), onnx_cudnn::GivenInputs().shapes);
});
ABSL_FLAG(std::vector<std::string>, shape_buckets, {}, onnx_cudnn::kShapeBucketsHelp);
ABSL_FLAG(std::string, partitioner, "greedy", onnx_cudnn::kPartitionerHelp);
ABSL_FLAG(std::string, precision, "auto", onnx_cudnn::kPrecisionHelp);
ABSL_FLAG(std::string, pin, "", onnx_cudnn::kPinHelp);
ABSL_FLAG(int, streams, 1, "With --explain: number of streams for independent steps.");
ABSL_FLAG(std::string, max_memory, "0", onnx_cudnn::kMaxMemoryHelp);
ABSL_FLAG(bool, check, false,
          "Checks a compiled model, NAME.ocp: reads every part, of which a start reads some, and "
          "compares its checksum. Exit code 2 if one differs.");
ABSL_FLAG(bool, tune, false,
          "Measures candidates for one or more models and stores the results in --plan-cache. "
          "onnx-cudnn-tune-worker, beside this program, measures: candidates that hang or "
          "crash there are skipped from then on. Needs a GPU.");
ABSL_FLAG(double, tune_budget, 60, "With --tune: seconds per model.");
ABSL_FLAG(std::string, tune_worker, "", onnx_cudnn::kTuneWorkerHelp);
ABSL_FLAG(std::string, plan_cache, "",
          "The plan cache file for --tune and --cache-...; with -o NAME.ocp the compiled model "
          "gets the plans for --shape that are in it.");
ABSL_FLAG(bool, cache_list, false,
          "Prints the entries of --plan-cache, one per line, then its failed candidates.");
ABSL_FLAG(std::vector<std::string>, cache_merge, {},
          "Adds the entries of these files to --plan-cache; of two entries for the same key "
          "the faster is kept.");
ABSL_FLAG(std::string, cache_prune, "",
          "Removes from --plan-cache the entries and failures of this device, or of this "
          "version of an engine.");

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-opt";
constexpr std::string_view kUsage =
    R"(onnx-cudnn-opt MODEL [flags]: rewrites an ONNX model and reports what each pass changed, or explains how the model will run.

  onnx-cudnn-opt resnet50.onnx                                          runs the passes of -O2; prints their changes and times
  onnx-cudnn-opt resnet50.onnx -O1 -o smaller.onnx                      of the same opset as resnet50.onnx, or --opset 17
  onnx-cudnn-opt model.onnx --passes fold-constants,dead-code --print
  onnx-cudnn-opt model.onnx --disable-passes fold-batch-norm --remarks
  onnx-cudnn-opt model.onnx --print-after fold-batch-norm
  onnx-cudnn-opt resnet50.onnx --explain --target h200 --shape 32x3x224x224
  onnx-cudnn-opt model.onnx --explain --input shape=8,-1                values that decide shapes
  onnx-cudnn-opt detector.onnx --explain --input image=image.npy        each program of a model that runs in segments, and why it is cut
  onnx-cudnn-opt model.onnx --explain --target h200 --partitioner cost --pin pins.txt --json why.json
  onnx-cudnn-opt model.onnx --explain --target h200 --report why.html   the same as a page for a browser

  onnx-cudnn-opt resnet50.onnx --target h200 --precision fp16 --shape 1x3x224x224 --plan-cache plans.json -o resnet50.ocp
  onnx-cudnn-opt resnet50.ocp --check                                   is the file whole?

  onnx-cudnn-opt resnet18.onnx resnet50.onnx --tune --plan-cache plans.json --partitioner cost --precision fp16 --shape 32x3x224x224
  onnx-cudnn-opt --plan-cache plans.json --cache-merge other.json --cache-list

Exit codes: 0 done, 1 usage, 2 model, pin file or plan cache invalid, 3 valid but not supported, 5 no GPU for --tune, 6 out of memory,
  7 internal.)";

struct Options {
  std::string model;
  int level;
  std::vector<std::string> passes, disabled;
  std::string print_after, output;
  int opset;
  bool print, remarks, explain;
  ExplainRequest explanation;
  std::string target;
  int compute_capability = 0;
  PrecisionChoice asked_precision = PrecisionChoice::kAuto, precision = PrecisionChoice::kStrict;
  int64_t max_memory = 0;
};

absl::Status CheckPassName(const std::string& name) {
  const std::vector<std::string> names = PassNames();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("unknown pass \"%s\", expected one of: %s",
                                                    name, absl::StrJoin(names, ", ")));
}

absl::StatusOr<OwnedTarget> TargetOf(const Options& options) {
  ASSIGN_OR_RETURN(OwnedTarget owned, MakeTarget(options.target));
  RETURN_IF_ERROR(SetCapability(owned, options.compute_capability));
  return owned;
}

// What an explanation needs, a compiled model can have, or neither.
absl::Status CheckOutput(const Options& options) {
  const bool compiles = IsCompiledName(options.output);
  if (absl::GetFlag(FLAGS_check) && (options.explain || !options.output.empty())) {
    return absl::InvalidArgumentError("--check takes no --explain and no --output");
  }
  if (compiles && (options.explain || options.opset != 0 || !options.passes.empty())) {
    return absl::InvalidArgumentError(
        "a compiled model (-o NAME.ocp) is written without --explain, --opset and --passes");
  }
  const ExplainRequest& explanation = options.explanation;
  const bool has_inputs = !GivenInputs().sources.empty() || !GivenInputs().shapes.empty();
  const bool explain_only = explanation.verbose || !explanation.json.empty() ||
                            !explanation.report.empty() || !explanation.shape_buckets.empty() ||
                            (!compiles && (has_inputs || !explanation.pin.empty()));
  if (options.explain || !explain_only) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--json, --report, --verbose, --pin, --input, --shape and --shape-buckets need --explain "
      "(--pin and --shape: or --tune; --pin, --shape and --input: or -o NAME.ocp)");
}

absl::StatusOr<Options> OptionsFromFlags(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string model, OnlyModel(arguments));
  Options options{.model = model,
                  .level = absl::GetFlag(FLAGS_level),
                  .passes = absl::GetFlag(FLAGS_passes),
                  .disabled = absl::GetFlag(FLAGS_disable_passes),
                  .print_after = absl::GetFlag(FLAGS_print_after),
                  .output = absl::GetFlag(FLAGS_output),
                  .opset = absl::GetFlag(FLAGS_opset),
                  .print = absl::GetFlag(FLAGS_print),
                  .remarks = absl::GetFlag(FLAGS_remarks),
                  .explain = absl::GetFlag(FLAGS_explain),
                  .explanation = {.model = model,
                                  .disabled = absl::GetFlag(FLAGS_disable_passes),
                                  .streams = absl::GetFlag(FLAGS_streams),
                                  .pin = absl::GetFlag(FLAGS_pin),
                                  .json = absl::GetFlag(FLAGS_json),
                                  .report = absl::GetFlag(FLAGS_report),
                                  .verbose = absl::GetFlag(FLAGS_verbose),
                                  .shape_buckets = absl::GetFlag(FLAGS_shape_buckets)},
                  .target = absl::GetFlag(FLAGS_target)};
  ExplainRequest& explanation = options.explanation;
  ASSIGN_OR_RETURN(options.max_memory, ParseBytes("--max-memory", absl::GetFlag(FLAGS_max_memory)));
  ASSIGN_OR_RETURN(explanation.partitioner, ParsePartitioner(absl::GetFlag(FLAGS_partitioner)));
  ASSIGN_OR_RETURN(options.asked_precision, ParsePrecision(absl::GetFlag(FLAGS_precision)));
  options.precision = options.asked_precision;
  ASSIGN_OR_RETURN(options.compute_capability, ParseCapability(absl::GetFlag(FLAGS_capability)));
  RETURN_IF_ERROR(TargetOf(options).status());
  if (options.precision == PrecisionChoice::kAuto) {
    const bool on_gpu = options.target != "cpu";
    options.precision = on_gpu ? PrecisionChoice::kTf32 : PrecisionChoice::kStrict;
  }
  RETURN_IF_ERROR(CheckOutput(options));
  if (explanation.streams < 1 || explanation.streams > 64) {
    return absl::InvalidArgumentError("--streams: expected 1 to 64");
  }
  if (options.level < 0 || options.level > 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--level: expected 0 to 2, found %d", options.level));
  }
  if (options.opset != 0) {
    if (options.output.empty()) return absl::InvalidArgumentError("--opset needs --output");
    if (options.opset < kOldestWrittenOpset || options.opset > kNewestOpset) {
      return absl::InvalidArgumentError(absl::StrFormat("--opset: expected %d to %d, found %d",
                                                        kOldestWrittenOpset, kNewestOpset,
                                                        options.opset));
    }
  }
  for (const std::string& name : options.passes) RETURN_IF_ERROR(CheckPassName(name));
  for (const std::string& name : options.disabled) RETURN_IF_ERROR(CheckPassName(name));
  if (!options.print_after.empty()) RETURN_IF_ERROR(CheckPassName(options.print_after));
  return options;
}

// Whether the flags request work on the plan cache instead of rewriting a model.
bool IsAboutPlanCache() {
  return absl::GetFlag(FLAGS_tune) || absl::GetFlag(FLAGS_cache_list) ||
         !absl::GetFlag(FLAGS_cache_merge).empty() || !absl::GetFlag(FLAGS_cache_prune).empty();
}

absl::StatusOr<PlanCacheRequest> PlanCacheFromFlags(const std::vector<std::string>& models) {
  PlanCacheRequest request{.merge = absl::GetFlag(FLAGS_cache_merge),
                           .prune = absl::GetFlag(FLAGS_cache_prune),
                           .models = models,
                           .shapes = GivenInputs().shapes,
                           .list = absl::GetFlag(FLAGS_cache_list)};
  request.session = {.device = DeviceChoice::kCuda,
                     .optimization_level = absl::GetFlag(FLAGS_level),
                     .disabled_passes = absl::GetFlag(FLAGS_disable_passes),
                     .tune_budget_s = absl::GetFlag(FLAGS_tune_budget),
                     .plan_cache = absl::GetFlag(FLAGS_plan_cache),
                     .tune_worker = absl::GetFlag(FLAGS_tune_worker)};
  SessionOptions& session = request.session;
  session.op_libraries = absl::GetFlag(FLAGS_op_library);
  ASSIGN_OR_RETURN(session.max_memory_bytes,
                   ParseBytes("--max-memory", absl::GetFlag(FLAGS_max_memory)));
  ASSIGN_OR_RETURN(session.partitioner, ParsePartitioner(absl::GetFlag(FLAGS_partitioner)));
  ASSIGN_OR_RETURN(session.precision, ParsePrecision(absl::GetFlag(FLAGS_precision)));
  if (session.plan_cache.empty()) {
    return absl::InvalidArgumentError("--tune and --cache-... need --plan-cache FILE");
  }
  if (absl::GetFlag(FLAGS_tune) == models.empty()) {
    return absl::InvalidArgumentError("models stand with --tune, and --tune needs one");
  }
  if (models.empty() && !absl::GetFlag(FLAGS_pin).empty()) {
    return absl::InvalidArgumentError("--pin needs --explain or --tune");
  }
  return request;
}

void PrintRun(const PassRun& run) {
  std::cout << absl::StreamFormat("pass    %-20s %-9s %8.2f ms  %d -> %d nodes\n", run.name,
                                  run.changed ? "changed" : "no change", run.ms, run.nodes_before,
                                  run.nodes_after);
}

absl::StatusOr<std::vector<std::unique_ptr<Pass>>> ChosenPasses(const Options& options) {
  if (options.passes.empty()) return MakePipeline(options.level, ProductType(options.precision));
  return MakePasses(options.passes);
}

absl::Status Rewrite(Graph& graph, const Options& options, const Target& target) {
  std::vector<Remark> remarks;
  PassContext context{.target = &target, .remarks = options.remarks ? &remarks : nullptr};
  if (!options.output.empty()) context.newest_opset = OpsetToWrite(graph, options.opset);
  PassManagerOptions manager;
  manager.disabled.insert(options.disabled.begin(), options.disabled.end());
  manager.after_pass = [&](const PassRun& run, const Graph& after) {
    if (!options.explain) PrintRun(run);
    if (run.name == options.print_after) std::cout << Print(after);
  };
  ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Pass>> passes, ChosenPasses(options));
  RETURN_IF_ERROR(RunPasses(graph, passes, manager, context).status());
  for (const Remark& remark : remarks) {
    std::cout << "remark  " << remark.pass << ": " << remark.where << ": " << remark.reason << "\n";
  }
  return absl::OkStatus();
}

// Without --streams, whose default is that of an explanation.
absl::Status Compile(const Options& options) {
  CompileRequest request{.target = options.target,
                         .options = {.optimization_level = options.level,
                                     .precision = options.asked_precision,
                                     .disabled_passes = options.disabled,
                                     .op_libraries = absl::GetFlag(FLAGS_op_library),
                                     .compute_capability = options.compute_capability,
                                     .partitioner = options.explanation.partitioner,
                                     .plan_cache = absl::GetFlag(FLAGS_plan_cache),
                                     .max_memory_bytes = options.max_memory}};
  ASSIGN_OR_RETURN(request.options.pins, ReadPinFile(options.explanation.pin));
  const auto text = CompileToFile(options.model, request, options.output);
  if (!text.ok()) return Annotate(text.status(), options.model);
  std::cout << *text;
  return absl::OkStatus();
}

absl::Status Optimize(const Options& options) {
  if (absl::GetFlag(FLAGS_check)) {
    ASSIGN_OR_RETURN(const std::string text, CheckCompiled(options.model));
    std::cout << text;
    return absl::OkStatus();
  }
  if (IsCompiledName(options.output)) return Compile(options);
  if (!options.explanation.report.empty()) RETURN_IF_ERROR(CheckReportPage());
  ASSIGN_OR_RETURN(OwnedTarget owned, TargetOf(options));
  if (options.max_memory > 0) owned.target.max_bytes = options.max_memory;
  owned.target.numerics.tf32 = options.precision == PrecisionChoice::kTf32;
  RETURN_IF_ERROR(LoadOpLibraries(absl::GetFlag(FLAGS_op_library)));
  ASSIGN_OR_RETURN(Graph graph, LoadModel(options.model));
  const absl::Status rewritten = Rewrite(graph, options, owned.target);
  if (!rewritten.ok()) return Annotate(rewritten, options.model);
  NodeMetadata metadata;
  if (options.explain) {
    auto explained = ExplainGraph(graph, options.explanation, owned.target);
    if (!explained.ok()) return Annotate(explained.status(), options.model);
    metadata = *std::move(explained);
  } else {
    std::cout << GraphSummary(graph);
  }
  if (options.print) std::cout << Print(graph);
  if (options.output.empty()) return absl::OkStatus();
  return WriteRewritten(graph, options.opset, metadata, options.output);
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
  if (IsAboutPlanCache()) {
    absl::StatusOr<PlanCacheRequest> request = PlanCacheFromFlags(*arguments);
    if (!request.ok()) return Fail(kTool, request.status().message(), kExitUsage);
    const std::string pin = absl::GetFlag(FLAGS_pin);
    absl::StatusOr<std::string> pins = ReadPinFile(pin);
    if (!pins.ok()) return Fail(kTool, pins.status());
    request->session.pins = *std::move(pins);
    const absl::StatusOr<std::string> text = WorkOnPlanCache(*request);
    if (!text.ok()) return Fail(kTool, WithPinFile(text.status(), pin));
    std::cout << *text << std::flush;
    return kExitDone;
  }
  absl::StatusOr<Options> options = OptionsFromFlags(*arguments);
  if (!options.ok()) return Fail(kTool, options.status().message(), kExitUsage);
  options->explanation.flags = absl::StrJoin(argv + 1, argv + argc, " ");
  if (absl::Status status = Optimize(*options); !status.ok()) return Fail(kTool, status);
  return kExitDone;
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}
