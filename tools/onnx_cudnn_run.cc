// onnx-cudnn-run: loads a model, runs it, and reports outputs and times.
#include <algorithm>
#include <iostream>
#include <optional>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "tools/common/bisect_report.h"
#include "tools/common/check_report.h"
#include "tools/common/doctor_report.h"
#include "tools/common/exit_codes.h"
#include "tools/common/files.h"
#include "tools/common/flags.h"
#include "tools/common/inputs.h"
#include "tools/common/max_error.h"
#include "tools/common/plan_flags.h"
#include "tools/common/profile_model.h"
#include "tools/common/progress_bar.h"
#include "tools/common/report.h"
#include "tools/common/report_page.h"
#include "tools/common/run_for_report.h"

ABSL_FLAG(std::string, input, "",
          "name=SOURCE, once per input; SOURCE alone if the model has one input. SOURCE is a "
          ".npy file; a .png or .jpg image, converted as --image describes; numbers, such as "
          "8,-1; random (seeded: floats in [0, 1), integers 0 or 1); or zeros. Other inputs "
          "are random.")
    .OnUpdate([] {
      onnx_cudnn::Append(absl::GetFlag(FLAGS_input), onnx_cudnn::GivenInputs().sources);
    });
ABSL_FLAG(std::string, shape, "", onnx_cudnn::kShapeHelp).OnUpdate([] {
  onnx_cudnn::AppendShape(absl::GetFlag(FLAGS_shape), onnx_cudnn::GivenInputs().shapes);
});
ABSL_FLAG(std::string, image, "",
          "Preprocessing of images: raw (0 to 255), unit (0 to 1), signed (-1 to 1), imagenet "
          "(as torchvision: shorter side to 8/7 of the input's, centre crop, mean and "
          "deviation), vgg (as Caffe: like imagenet, but BGR minus 103.939, 116.779, 123.68), "
          "open-nsfw (stretched to 8/7, centre crop, BGR minus 104, 117, 123). The layout "
          "(NCHW or NHWC, 3 or 1 channels) is that of the model's input. Default: imagenet, or "
          "raw for a u8 input.");
ABSL_FLAG(std::string, image_fit, "",
          "Overrides the preset's fit: stretch (to the input's size), crop (shorter side to "
          "8/7 of the input's, then centre crop), stretch-crop. Resizing is bilinear, with "
          "antialiasing when the image shrinks.");
ABSL_FLAG(std::string, image_order, "", "Overrides the preset's channel order: rgb or bgr.");
ABSL_FLAG(double, image_scale, 0,
          "Overrides the preset's scale in (sample x scale - mean) / deviation. 0: the "
          "preset's.");
ABSL_FLAG(std::vector<std::string>, image_mean, {},
          "Overrides the preset's mean: one number per channel, in the input's order.");
ABSL_FLAG(std::vector<std::string>, image_deviation, {},
          "Overrides the preset's deviation: one number per channel, in the input's order.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of random inputs.");
ABSL_FLAG(std::string, output_dir, "",
          "Directory for one NAME.npy per output; characters other than letters, digits, . _ - "
          "in a name become _, and equal names are numbered.");
ABSL_FLAG(int, runs, 1, "Number of timed runs, after one that is not timed; 0: none.");
ABSL_FLAG(double, warm_up, 0, "Milliseconds of warm-up runs before the timed ones.");
ABSL_FLAG(std::vector<std::string>, new_shapes, {},
          "After the timed runs, runs with these shapes too, one after the other, and reports for "
          "each the times of the first runs, of a steady one and of the longest. A list separated "
          "by commas of shapes as --shape takes them; of several inputs with semicolons: "
          "'x=1x8;mask=8,x=1x16;mask=16'. Runs of each go on for --warm-up.");
ABSL_FLAG(std::string, partitioner, "greedy", onnx_cudnn::kPartitionerHelp);
ABSL_FLAG(std::string, precision, "auto", onnx_cudnn::kPrecisionHelp);
ABSL_FLAG(std::string, max_memory, "0", onnx_cudnn::kMaxMemoryHelp);
ABSL_FLAG(double, tune_budget, 0, onnx_cudnn::kTuneBudgetHelp);
ABSL_FLAG(std::string, tune, "foreground", onnx_cudnn::kTuneHelp);
ABSL_FLAG(std::string, first_program, "best", onnx_cudnn::kFirstProgramHelp);
ABSL_FLAG(std::string, plan_cache, "", onnx_cudnn::kPlanCacheHelp);
ABSL_FLAG(std::string, tune_worker, "", onnx_cudnn::kTuneWorkerHelp);
ABSL_FLAG(std::vector<std::string>, devices, {}, onnx_cudnn::kDevicesHelp);
ABSL_FLAG(
    std::string, device, "auto",
    "auto (a GPU if there is one), cpu, or cuda (exit code 5 if there is none); cuda:1 is the "
    "second GPU.");
ABSL_FLAG(
    std::string, target, "",
    "Partitions and lowers the model for this GPU, and runs the result on the CPU device with "
    "the ops' references: what fp16 costs in accuracy, without a GPU. Times are not those of "
    "the GPU. h200, h100, a100, a10, l4, rtx4090, b200, or cpu.");
ABSL_FLAG(std::string, capability, "", onnx_cudnn::kCapabilityHelp);
ABSL_FLAG(int, host_threads, 0, onnx_cudnn::kHostThreadsHelp);
ABSL_FLAG(std::vector<std::string>, shape_buckets, {}, onnx_cudnn::kShapeBucketsHelp);
ABSL_FLAG(int, streams, 0, "Number of streams for independent steps. 0: two on a GPU, else one.");
ABSL_FLAG(bool, no_cuda_graph, false,
          "On a GPU: does not use CUDA graphs; launches every step in every run.");
ABSL_FLAG(bool, on_device, false,
          "Keeps inputs and outputs of timed runs in device memory, so that copies are not "
          "timed.");
ABSL_FLAG(bool, allow_nondeterministic, false,
          "Allows library plans whose results may differ from run to run in the last bits.");
ABSL_FLAG(int, level, 2,
          "Level of graph rewrites. 0: only those that running needs; 1: clean-up; 2: also "
          "rewrites that change arithmetic, such as folding BatchNormalization into Conv.");
ABSL_FLAG(std::vector<std::string>, op_library, {}, onnx_cudnn::kOpLibraryHelp);
ABSL_FLAG(std::vector<std::string>, disable_passes, {},
          "Rewrites to leave out, by name (onnx-cudnn-opt --help lists them).");
ABSL_FLAG(
    std::string, verify, "",
    "Compares outputs with those in a .npz file (arrays with the names of outputs; "
    "arrays with the names of inputs are used as inputs), in a directory that --output-dir "
    "wrote (NAME.npy), or in a test_data_set directory of ONNX (input_0.pb, output_0.pb); or, "
    "with the word reference, with those of the ops' references on the CPU in the model's "
    "own types. Exit code 4 if one differs.");
ABSL_FLAG(
    std::string, rtol, "",
    "Tolerance of --verify relative to |expected|. Only floats have a tolerance. Default: by the "
    "types of output and arithmetic, and the report names it: ONNX's own 1e-3 for f32, 2e-3 for "
    "tf32, 1e-3 for fp16, 2^-6 for bf16.");
ABSL_FLAG(
    std::string, atol, "",
    "Tolerance of --verify relative to the output's largest |expected|. Default: 1e-5 for f32 "
    "(and ONNX's own 1e-7 absolute), 2e-2 for tf32, 5e-2 for fp16, 8e-2 for bf16.");
ABSL_FLAG(int, top, 0,
          "Prints the K largest elements of each row along the last axis of each output.");
ABSL_FLAG(std::string, labels, "", "A text file with one label per line, for --top.");
ABSL_FLAG(std::string, pin, "", onnx_cudnn::kPinHelp);
ABSL_FLAG(bool, check_partitions, false,
          "Runs each partition alone, fused as in a normal run, on inputs that the ops' "
          "references compute on the host, and prints how far its outputs differ from the "
          "references, the worst first, which is the first that is wrong, and each op of a wrong "
          "one alone. Exit code 4 if one is wrong. No runs are timed.");
ABSL_FLAG(
    bool, profile, false,
    "Prints a table of the steps of the runs: time (medians of --runs, at least 10), share, "
    "lower bound as a share of it, GB/s, TFLOP/s, engine, ONNX nodes, kernel. On a GPU events "
    "within the CUDA graph time them, on the CPU device the host's clock does.");
ABSL_FLAG(std::string, profile_by, "step",
          "Rows of --profile: step, op (steps with the same ops) or layer (by the names of nodes, "
          "up to their last / or dot).");
ABSL_FLAG(
    std::string, trace, "",
    "Writes what the host did and when each step and copy ran to this file, as Chrome's trace "
    "events: Perfetto (ui.perfetto.dev) opens it.");
ABSL_FLAG(std::string, report, "",
          absl::StrCat(onnx_cudnn::kReportHelp, " Times are those of --profile."));
ABSL_FLAG(std::string, bisect, "",
          "Directory. If an output differs from that of the ops' references by more than --verify "
          "allows: finds by halving the rewrite that is guilty, if one is, and the fewest nodes "
          "that are still wrong, and writes these as reduced.onnx, with their inputs and right "
          "outputs in reduced.npz, into the directory. Takes at most a minute for ordinary models. "
          "Exit code 4 if a fault was found.");
ABSL_FLAG(
    std::string, max_error, "",
    "With --precision fp16 or bf16: finds which nodes have to stay in f32 for outputs that "
    "differ from those of the ops' references by at most this share of their largest element, "
    "and prints the flag --keep-f32 for them. Exit code 4 if all of them are not enough.");
ABSL_FLAG(std::vector<std::string>, keep_f32, {}, onnx_cudnn::kKeepF32Help);
ABSL_FLAG(bool, check, false,
          "Checks, without running anything, whether every node of the model runs on the GPU (h200 "
          "if there is none; cpu with --device cpu), and on which engine: prints every node that "
          "does not run, and why. Exit code 3 if there is one, 2 if it violates ONNX's rules.");
ABSL_FLAG(bool, doctor, false,
          "Prints, without a model, what this host has for runs on a GPU (driver, GPUs, libraries "
          "and where they are, tune worker, --plan-cache), and the commands that bring what is "
          "missing. Exit code 5 if a run on a GPU needs something that is missing.");
ABSL_FLAG(bool, json, false, "Prints one JSON object instead of text.");
ABSL_FLAG(bool, verbose, false,
          "Also prints the times of load, optimization, planning and tuning, and memory use.");

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-run";
constexpr int kLeastProfiledRuns = 10;
constexpr std::string_view kUsage = R"(onnx-cudnn-run MODEL [flags]: runs an ONNX model.

  onnx-cudnn-run resnet50.onnx                                          random input, output summary, latency
  onnx-cudnn-run resnet50.onnx --input cat.jpg --top 5 --labels imagenet.txt
  onnx-cudnn-run open-nsfw.onnx --input photo.jpg --image open-nsfw --top 2
  onnx-cudnn-run model.onnx --input x=x.npy --input mask=zeros --input shape=8,-1 --output-dir out
  onnx-cudnn-run model.onnx --shape x=8x3x224x224 --runs 100 --warm-up 1000 --json
  onnx-cudnn-run model.onnx --verify test_data_set_0                    or --verify expected.npz
  onnx-cudnn-run model.onnx --target h200 --precision fp16 --verify d   what fp16 would differ by, without a GPU
  onnx-cudnn-run model.onnx --device cuda --check-partitions            which partition is wrong, if any
  onnx-cudnn-run model.onnx --verify reference                          or with random inputs, against the ops' references
  onnx-cudnn-run model.onnx --device cuda --bisect out                  the guilty rewrite or op, and a model of a few nodes
  onnx-cudnn-run model.onnx --precision fp16 --max-error 1e-3           which nodes to keep in f32 for that
  onnx-cudnn-run model.onnx --profile --profile-by layer --trace t.json where the time goes
  onnx-cudnn-run model.onnx --check                                     does every node run, and on which engine
  onnx-cudnn-run --doctor                                               what this host lacks for runs on a GPU
  onnx-cudnn-run resnet50.onnx --device cuda --precision fp16 --on-device --runs 100 --warm-up 500

)";
constexpr std::string_view kExitHelp = R"(
Exit codes: 0 done, 1 usage, 2 model or input invalid, 3 valid but not supported, 4 --verify,
  --check-partitions or --bisect found a difference or --max-error cannot be reached, 5 device or library missing (no GPU, driver too old, no cuDNN) or lost, 6 out of memory, 7 internal.)";

absl::StatusOr<ImagePreset> ImageFromFlags() {
  const std::string name = absl::GetFlag(FLAGS_image);
  ASSIGN_OR_RETURN(ImagePreset preset, FindImagePreset(name.empty() ? "imagenet" : name));
  RETURN_IF_ERROR(
      OverrideFit(absl::GetFlag(FLAGS_image_fit), absl::GetFlag(FLAGS_image_order), preset));
  if (const double scale = absl::GetFlag(FLAGS_image_scale); scale != 0) {
    preset.scale = static_cast<float>(scale);
  }
  if (const auto mean = absl::GetFlag(FLAGS_image_mean); !mean.empty()) {
    ASSIGN_OR_RETURN(preset.mean, ParseChannels("image-mean", mean));
  }
  if (const auto deviation = absl::GetFlag(FLAGS_image_deviation); !deviation.empty()) {
    ASSIGN_OR_RETURN(preset.deviation, ParseChannels("image-deviation", deviation));
  }
  return preset;
}

absl::StatusOr<SessionOptions> SessionFromFlags() {
  SessionOptions session{.optimization_level = absl::GetFlag(FLAGS_level),
                         .allow_nondeterministic = absl::GetFlag(FLAGS_allow_nondeterministic),
                         .disabled_passes = absl::GetFlag(FLAGS_disable_passes),
                         .tune_budget_s = absl::GetFlag(FLAGS_tune_budget),
                         .plan_cache = absl::GetFlag(FLAGS_plan_cache),
                         .tune_worker = absl::GetFlag(FLAGS_tune_worker),
                         .tune_progress = TuneProgressBar(),
                         .streams = absl::GetFlag(FLAGS_streams),
                         .cuda_graph = !absl::GetFlag(FLAGS_no_cuda_graph)};
  session.op_libraries = absl::GetFlag(FLAGS_op_library);
  session.target = absl::GetFlag(FLAGS_target);
  session.keep_f32 = absl::GetFlag(FLAGS_keep_f32);
  session.shape_buckets = absl::GetFlag(FLAGS_shape_buckets);
  session.threads = absl::GetFlag(FLAGS_host_threads);
  ASSIGN_OR_RETURN(session.max_memory_bytes,
                   ParseBytes("--max-memory", absl::GetFlag(FLAGS_max_memory)));
  ASSIGN_OR_RETURN(session.devices, ParseDevices(absl::GetFlag(FLAGS_devices)));
  ASSIGN_OR_RETURN(session.device, ParseDevice(absl::GetFlag(FLAGS_device), session.devices));
  ASSIGN_OR_RETURN(session.compute_capability, ParseCapability(absl::GetFlag(FLAGS_capability)));
  ASSIGN_OR_RETURN(session.partitioner, ParsePartitioner(absl::GetFlag(FLAGS_partitioner)));
  ASSIGN_OR_RETURN(session.precision, ParsePrecision(absl::GetFlag(FLAGS_precision)));
  ASSIGN_OR_RETURN(session.tune, ParseTuneMode(absl::GetFlag(FLAGS_tune)));
  ASSIGN_OR_RETURN(session.first_program, ParseFirstProgram(absl::GetFlag(FLAGS_first_program)));
  // In the background, the bar would be mixed with the output of runs.
  if (session.tune == TuneMode::kBackground) session.tune_progress = nullptr;
  return session;
}

absl::StatusOr<RunRequest> RequestFromFlags(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string model, OnlyModel(arguments));
  RunRequest options{.model = model,
                     .timing = {.runs = absl::GetFlag(FLAGS_runs),
                                .warm_up_ms = absl::GetFlag(FLAGS_warm_up),
                                .on_device = absl::GetFlag(FLAGS_on_device)},
                     .top = absl::GetFlag(FLAGS_top),
                     .output_dir = absl::GetFlag(FLAGS_output_dir),
                     .verify = absl::GetFlag(FLAGS_verify),
                     .labels = absl::GetFlag(FLAGS_labels),
                     .new_shapes = absl::GetFlag(FLAGS_new_shapes),
                     .check_partitions = absl::GetFlag(FLAGS_check_partitions)};
  RunTiming& timing = options.timing;
  if (timing.runs < 0 || options.top < 0 || !(timing.warm_up_ms >= 0)) {
    return absl::InvalidArgumentError("--runs, --top, --warm-up: expected 0 or more");
  }
  ASSIGN_OR_RETURN(options.rtol, ParseTolerance("--rtol", absl::GetFlag(FLAGS_rtol)));
  ASSIGN_OR_RETURN(options.atol, ParseTolerance("--atol", absl::GetFlag(FLAGS_atol)));
  ASSIGN_OR_RETURN(options.session, SessionFromFlags());
  timing.binds_again = options.session.tune == TuneMode::kBackground ||
                       options.session.first_program == FirstProgram::kQuick;
  options.profile = {.table = absl::GetFlag(FLAGS_profile),
                     .trace = absl::GetFlag(FLAGS_trace),
                     .page = absl::GetFlag(FLAGS_report),
                     .runs = std::max(timing.runs, kLeastProfiledRuns)};
  ASSIGN_OR_RETURN(options.profile.by, ParseProfileBy(absl::GetFlag(FLAGS_profile_by)));
  if (options.check_partitions) timing.runs = 0;
  ASSIGN_OR_RETURN(options.inputs.image, ImageFromFlags());
  options.inputs.image_was_asked = !absl::GetFlag(FLAGS_image).empty();
  options.inputs.sources = GivenInputs().sources;
  options.inputs.shapes = GivenInputs().shapes;
  options.inputs.seed = absl::GetFlag(FLAGS_seed);
  return options;
}

int PrintReport(std::string_view text, ExitCode code) {
  std::cout << text << std::flush;
  return std::cout ? code : Fail(kTool, "cannot write to standard output", kExitInvalid);
}

int Main(int argc, char** argv) {
  absl::StatusOr<std::vector<std::string>> arguments = ParseFlags(
      {argv, argv + argc}, absl::StrCat(kUsage, kRunJsonHelp, kExitHelp), "onnx_cudnn_run.cc");
  if (!arguments.ok()) return Fail(kTool, arguments.status().message(), kExitUsage);
  if (absl::GetFlag(FLAGS_doctor)) {
    const DoctorReport doctor = Doctor({.plan_cache = absl::GetFlag(FLAGS_plan_cache),
                                        .tune_worker = absl::GetFlag(FLAGS_tune_worker)});
    return PrintReport(absl::GetFlag(FLAGS_json) ? DoctorJson(doctor) : DoctorText(doctor),
                       ExitCodeOf(doctor));
  }
  absl::StatusOr<RunRequest> options = RequestFromFlags(*arguments);
  if (!options.ok()) return Fail(kTool, options.status().message(), kExitUsage);
  const bool json = absl::GetFlag(FLAGS_json), verbose = absl::GetFlag(FLAGS_verbose);
  const std::string pin = absl::GetFlag(FLAGS_pin);
  absl::StatusOr<std::string> pins = ReadPinFile(pin);
  if (!pins.ok()) return Fail(kTool, pins.status());
  options->session.pins = *std::move(pins);
  options->profile.flags = absl::StrJoin(argv + 1, argv + argc, " ");
  if (absl::GetFlag(FLAGS_check)) {
    const auto check = CheckForReport(options->model, options->session, options->inputs);
    if (!check.ok()) return Fail(kTool, check.status());
    return PrintReport(json ? CheckJson(*check) : CheckText(*check), ExitCodeOf(*check));
  }
  if (const std::string folder = absl::GetFlag(FLAGS_bisect); !folder.empty()) {
    const auto found = BisectModel(options->model, options->session, options->inputs, options->rtol,
                                   options->atol, folder);
    if (!found.ok()) return Fail(kTool, WithPinFile(found.status(), pin));
    return PrintReport(json ? BisectJson(*found) : BisectText(*found), ExitCodeOf(*found));
  }
  const auto most = ParseTolerance("--max-error", absl::GetFlag(FLAGS_max_error));
  if (!most.ok()) return Fail(kTool, most.status().message(), kExitUsage);
  if (most->has_value()) {
    const auto found = FindMaxError(options->model, options->session, options->inputs, **most);
    if (!found.ok()) return Fail(kTool, WithPinFile(found.status(), pin));
    return PrintReport(json ? MaxErrorJson(*found) : MaxErrorText(*found), ExitCodeOf(*found));
  }
  absl::StatusOr<RunReport> report = RunForReport(*std::move(options));
  if (!report.ok()) return Fail(kTool, WithPinFile(report.status(), pin));
  std::cout << (json ? FormatJson(*report) : FormatText(*report, verbose)) << std::flush;
  if (!std::cout) return Fail(kTool, "cannot write to standard output", kExitInvalid);
  if (!report->verify_ok()) return Fail(kTool, "an output differs from --verify", kExitDifference);
  if (!report->partitions_ok()) {
    return Fail(kTool, "a partition differs from its ops' references", kExitDifference);
  }
  return kExitDone;
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}
