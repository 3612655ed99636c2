#include "tools/common/foreign_flags.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace onnx_cudnn {
namespace {

using Arguments = std::optional<std::vector<std::string>>;

Arguments Nothing(std::string_view) { return std::vector<std::string>(); }
// The value of a switch must be absent.
template <const char* kOurs>
Arguments Switch(std::string_view value) {
  if (!value.empty()) return std::nullopt;
  return std::vector<std::string>{kOurs};
}
// A flag with the same value.
template <const char* kOurs>
Arguments Same(std::string_view value) {
  return std::vector<std::string>{absl::StrCat("--", kOurs, "=", value)};
}

constexpr char kFp16[] = "--precision=fp16", kBf16[] = "--precision=bf16";
constexpr char kStrict[] = "--precision=strict", kOnDevice[] = "--on-device";
constexpr char kNoRuns[] = "--runs=0", kVerbose[] = "--verbose", kTwoStreams[] = "--streams=2";
constexpr char kRuns[] = "runs", kWarmUp[] = "warm-up", kSeconds[] = "seconds", kSeed[] = "seed";
constexpr char kThreads[] = "threads", kHostThreads[] = "host-threads";
constexpr char kProfileSwitch[] = "--profile", kTrace[] = "trace";
constexpr char kPlanCache[] = "plan-cache", kOutputDir[] = "output-dir";

// "x:1x3,y:1,8" as an argument per input. A part without a name continues the shape before it. A
// name may contain colons, a shape may not.
Arguments Shapes(std::string_view text) {
  std::vector<std::string> arguments;
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    if (arguments.empty() || absl::StrContains(part, ':') || absl::StrContains(part, '=')) {
      std::string argument = absl::StrCat("--shape=", part);
      const size_t colon = argument.rfind(':');
      if (colon != std::string::npos && !absl::StrContains(part, '=')) argument[colon] = '=';
      arguments.push_back(std::move(argument));
    } else {
      absl::StrAppend(&arguments.back(), ",", part);
    }
  }
  return arguments;
}

// "N:4 length:8" as an argument per dim.
Arguments FreeDims(std::string_view text) {
  std::vector<std::string> arguments;
  for (const std::string_view dim : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t colon = dim.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    arguments.push_back(absl::StrCat("--shape=", dim.substr(0, colon), "=", dim.substr(colon + 1)));
  }
  return arguments;
}

Arguments Provider(std::string_view name) {
  if (name == "cpu") return std::vector<std::string>{"--device=cpu"};
  const bool is_gpu = name == "cuda" || name == "tensorrt" || name == "nvtensorrtrtx";
  if (is_gpu) return std::vector<std::string>{"--device=cuda"};
  return std::nullopt;
}

Arguments Level(std::string_view level) {
  if (level == "0" || level == "1")
    return std::vector<std::string>{absl::StrCat("--level=", level)};
  if (level == "2" || level == "3" || level == "99") return std::vector<std::string>{"--level=2"};
  return std::nullopt;
}

// -r counts runs, --seconds limits them.
Arguments Mode(std::string_view mode) {
  if (mode == "times" || mode == "duration") return std::vector<std::string>();
  return std::nullopt;
}

constexpr std::string_view kNoEngine =
    "there is no engine file: the model itself runs, and --plan-cache FILE keeps what was measured";
constexpr std::string_view kExplain = "onnx-cudnn-opt MODEL --explain --target h200";
constexpr std::string_view kProfile = "onnx-cudnn-run MODEL --profile --trace FILE.json";
constexpr std::string_view kShape = "--shape name=1x3x224x224; any other shape works as well";
constexpr std::string_view kTypes =
    "the model's own types, or --precision fp16, bf16, tf32 or strict";
constexpr std::string_view kQuantized = "a model that is quantized runs as it is";
constexpr std::string_view kBench = "onnx-cudnn-bench MODEL --seconds 3 --threads 1";
constexpr std::string_view kBenchReports =
    "onnx-cudnn-bench reports mean, median, 90th, 95th and 99th percentile";
constexpr std::string_view kNoDla = "no DLA is used; --device cuda or cpu";
constexpr std::string_view kNoPlugins = "plugins of TensorRT are not read";
constexpr std::string_view kTune = "--partitioner cost --tune-budget 60 measures candidates";
constexpr std::string_view kPins = "--pin FILE chooses engines by node";
constexpr std::string_view kMemory = "--max-memory 1G";
constexpr std::string_view kOutputs = "--output-dir FOLDER";
constexpr std::string_view kTimes = "onnx-cudnn-run MODEL --runs 100 --json";
constexpr std::string_view kNoRefit = "weights are those of the model, they are not refitted";
constexpr std::string_view kDevice = "--device cuda or cpu";
constexpr std::string_view kNoArena = "memory is planned once per shape, nothing is to be chosen";
constexpr std::string_view kNoProviders = "there are no execution providers; --device cuda or cpu";
constexpr std::string_view kSpinning = "onnx-cudnn waits without spinning; --host-threads N";

constexpr ForeignFlag kFlags[] = {
    // trtexec
    {"onnx", true, nullptr, "the model file itself"},
    {"shapes", true, Shapes, kShape},
    {"minShapes", true, nullptr, kShape},
    {"optShapes", true, nullptr, kShape},
    {"maxShapes", true, nullptr, kShape},
    {"minShapesCalib", true, nullptr, kQuantized},
    {"optShapesCalib", true, nullptr, kQuantized},
    {"maxShapesCalib", true, nullptr, kQuantized},
    {"inputIOFormats", true, nullptr, "inputs have the model's types and row-major order"},
    {"outputIOFormats", true, nullptr, "outputs have the model's types and row-major order"},
    {"memPoolSize", true, nullptr, kMemory},
    {"workspace", true, nullptr, kMemory},
    {"profilingVerbosity", true, nullptr, kExplain},
    {"avgTiming", true, nullptr, kTune},
    {"minTiming", true, nullptr, kTune},
    {"refit", false, nullptr, kNoRefit},
    {"stripWeights", false, nullptr, kNoEngine},
    {"stripAllWeights", false, nullptr, kNoEngine},
    {"weightless", false, nullptr, kNoEngine},
    {"versionCompatible", false, nullptr, kNoEngine},
    {"vc", false, nullptr, kNoEngine},
    {"pluginInstanceNorm", false, nullptr, kNoPlugins},
    {"pi", false, nullptr, kNoPlugins},
    {"useRuntime", true, nullptr, kNoEngine},
    {"leanDLLPath", true, nullptr, kNoEngine},
    {"excludeLeanRuntime", false, nullptr, kNoEngine},
    {"monitorMemory", false, nullptr, "onnx-cudnn-run MODEL --verbose prints memory"},
    {"sparsity", true, nullptr, "sparse weights run as dense ones"},
    {"noTF32", false, Switch<kStrict>, kTypes},
    {"fp16", false, Switch<kFp16>, kTypes},
    {"bf16", false, Switch<kBf16>, kTypes},
    {"int8", false, nullptr, kQuantized},
    {"fp8", false, nullptr, kQuantized},
    {"int4", false, nullptr, kQuantized},
    {"best", false, nullptr, "--precision fp16 --partitioner cost --tune-budget 60"},
    {"stronglyTyped", false, Switch<kStrict>, kTypes},
    {"directIO", false, nullptr, "inputs and outputs are row-major"},
    {"precisionConstraints", true, nullptr, kTypes},
    {"layerPrecisions", true, nullptr, kTypes},
    {"layerOutputTypes", true, nullptr, kTypes},
    {"layerDeviceTypes", true, nullptr, kPins},
    {"decomposableAttentions", true, nullptr, kPins},
    {"calib", true, nullptr, kQuantized},
    {"safe", false, nullptr, "there is no safety mode"},
    {"consistency", false, nullptr, "there is no safety mode"},
    {"restricted", false, nullptr, "there is no safety mode"},
    {"buildDLAStandalone", false, nullptr, kNoDla},
    {"allowGPUFallback", false, nullptr, kNoDla},
    {"useDLACore", true, nullptr, kNoDla},
    {"saveEngine", true, nullptr, kNoEngine},
    {"loadEngine", true, nullptr, kNoEngine},
    {"asyncFileReader", false, nullptr, kNoEngine},
    {"getPlanVersionOnly", false, nullptr, kNoEngine},
    {"tacticSources", true, nullptr, kPins},
    {"noBuilderCache", false, nullptr, "nothing is cached without --plan-cache"},
    {"noCompilationCache", false, nullptr, "nothing is cached without --plan-cache"},
    {"errorOnTimingCacheMiss", false, nullptr,
     "--plan-cache FILE without --tune-budget measures nothing"},
    {"timingCacheFile", true, Same<kPlanCache>, "--plan-cache FILE"},
    {"preview", true, nullptr, "there are no preview features"},
    {"builderOptimizationLevel", true, nullptr, kTune},
    {"maxTactics", true, nullptr, kTune},
    {"tilingOptimizationLevel", true, nullptr, kTune},
    {"l2LimitForTiling", true, nullptr, kTune},
    {"remoteAutoTuningConfig", true, nullptr, kTune},
    {"hardwareCompatibilityLevel", true, nullptr, "--capability 8.0"},
    {"runtimePlatform", true, nullptr, kNoEngine},
    {"tempdir", true, nullptr, "no temporary files are made"},
    {"tempfileControls", true, nullptr, "no temporary files are made"},
    {"maxAuxStreams", true, nullptr, "--streams N"},
    {"profile", true, nullptr, kShape},
    {"calibProfile", true, nullptr, kQuantized},
    {"useProfile", true, nullptr, kShape},
    {"allowWeightStreaming", false, nullptr, "weights stay on the GPU"},
    {"weightStreamingBudget", true, nullptr, "weights stay on the GPU"},
    {"markDebug", true, nullptr, "--check-partitions compares the results of each partition"},
    {"markUnfusedTensorsAsDebugTensors", false, nullptr,
     "--check-partitions compares the results of each partition"},
    {"saveDebugTensors", true, nullptr,
     "--check-partitions compares the results of each partition"},
    {"saveAllDebugTensors", true, nullptr,
     "--check-partitions compares the results of each partition"},
    {"loadInputs", true, nullptr, "--input name=FILE.npy"},
    {"iterations", true, Same<kRuns>, kTimes},
    {"warmUp", true, Same<kWarmUp>, kTimes},
    {"duration", true, Same<kSeconds>, kBench},
    {"sleepTime", true, nullptr, "runs follow each other without a pause"},
    {"idleTime", true, nullptr, "runs follow each other without a pause"},
    {"infStreams", true, Same<kThreads>, kBench},
    {"exposeDMA", false, nullptr, "onnx-cudnn-bench reports h2d_ms and d2h_ms of copies alone"},
    {"noDataTransfers", false, Switch<kOnDevice>, "onnx-cudnn-bench keeps data on the device"},
    {"useManagedMemory", false, nullptr, "--on-device keeps data in device memory"},
    {"useSpinWait", false, nullptr, "waiting for the GPU is the driver's choice"},
    {"useCudaGraph", false, Nothing, "CUDA graphs are used unless --no-cuda-graph is given"},
    {"timeDeserialize", false, nullptr,
     "onnx-cudnn-run MODEL --verbose prints the times of the set-up"},
    {"timeRefit", false, nullptr, kNoRefit},
    {"separateProfileRun", false, nullptr, kProfile},
    {"skipInference", false, Switch<kNoRuns>, "onnx-cudnn-run MODEL --runs 0"},
    {"buildOnly", false, Switch<kNoRuns>, "onnx-cudnn-run MODEL --runs 0"},
    {"persistentCacheRatio", true, nullptr, "the L2 cache is left to the GPU"},
    {"allocationStrategy", true, nullptr, kNoArena},
    {"verbose", false, Switch<kVerbose>, "onnx-cudnn-run MODEL --verbose"},
    {"avgRuns", true, nullptr, kBenchReports},
    {"percentile", true, nullptr, kBenchReports},
    {"dumpRefit", false, nullptr, kNoRefit},
    {"dumpOutput", false, nullptr, kOutputs},
    {"dumpRawBindingsToFile", false, nullptr, kOutputs},
    {"dumpProfile", false, Switch<kProfileSwitch>, kProfile},
    {"dumpLayerInfo", false, nullptr, kExplain},
    {"dumpOptimizationProfile", false, nullptr, kExplain},
    {"exportTimes", true, nullptr, kTimes},
    {"exportOutput", true, nullptr, kOutputs},
    {"exportProfile", true, Same<kTrace>, kProfile},
    {"exportLayerInfo", true, nullptr, kExplain},
    {"staticPlugins", true, nullptr, kNoPlugins},
    {"dynamicPlugins", true, nullptr, kNoPlugins},
    {"plugins", true, nullptr, kNoPlugins},
    {"setPluginsToSerialize", true, nullptr, kNoPlugins},
    {"ignoreParsedPluginLibs", false, nullptr, kNoPlugins},
    {"explicitBatch", false, Nothing, "the batch is a dim of the inputs"},
    {"maxBatch", true, nullptr, kShape},
    {"batch", true, nullptr, kShape},
    // onnxruntime_perf_test
    {"f", true, FreeDims, "--shape dim=4"},
    {"F", true, nullptr, "--shape dim=4 gives a dim a number by its name"},
    {"m", true, Mode, "--runs N, or onnx-cudnn-bench MODEL --seconds S"},
    {"e", true, Provider, kDevice},
    {"r", true, Same<kRuns>, kTimes},
    {"t", true, Same<kSeconds>, kBench},
    {"p", true, Same<kTrace>, kProfile},
    {"x", true, Same<kHostThreads>, "onnx-cudnn-run MODEL --host-threads N"},
    {"y", true, nullptr, "--streams N runs independent steps side by side"},
    {"c", true, Same<kThreads>, kBench},
    {"d", true, nullptr, kTune},
    {"o", true, Level, "onnx-cudnn-run MODEL --level 2"},
    {"u", true, nullptr, "onnx-cudnn-opt MODEL -o FILE"},
    {"opt_data", true, nullptr, "onnx-cudnn-opt MODEL -o FILE writes weights into the file"},
    {"opt_weight_min_size", true, nullptr,
     "onnx-cudnn-opt MODEL -o FILE writes weights into the file"},
    {"opt_save_prepacks", false, nullptr,
     "onnx-cudnn-opt MODEL -o FILE writes weights into the file"},
    {"i", true, nullptr, kNoProviders},
    {"S", true, Same<kSeed>, "onnx-cudnn-run MODEL --seed N"},
    {"T", true, nullptr, "taskset chooses cores, --host-threads N their number"},
    {"C", true, nullptr, "--help lists the options, there are no others"},
    {"R", true, nullptr, "--op-library FILE, for libraries made for onnx-cudnn"},
    {"X", false, nullptr, "libraries of onnxruntime's custom ops are not read"},
    {"A", false, nullptr, kNoArena},
    {"M", false, nullptr, kNoArena},
    {"shrink_arena_between_runs", true, nullptr, kNoArena},
    {"enable_cuda_mempool", true, nullptr, kNoArena},
    {"s", false, Nothing, "statistics are always printed"},
    {"v", false, Switch<kVerbose>, "onnx-cudnn-run MODEL --verbose"},
    {"I", false, Nothing, "inputs are random unless --input is given"},
    {"P", false, Switch<kTwoStreams>, "--streams 2"},
    {"q", false, nullptr, "copies are part of the CUDA graph; --on-device leaves them out"},
    {"z", false, nullptr, "denormals are computed as they are"},
    {"D", false, nullptr, kSpinning},
    {"Z", false, nullptr, kSpinning},
    {"spin_duration_us", true, nullptr, kSpinning},
    {"spin_backoff_max", true, nullptr, kSpinning},
    {"n", false, Switch<kNoRuns>, "onnx-cudnn-run MODEL --runs 0"},
    {"hold_ms_after_session_creation", true, nullptr, kTimes},
    {"enable_telemetry", false, nullptr, "there is no telemetry"},
    {"telemetry_smoke_sessions", true, nullptr, "there is no telemetry"},
    {"l", false, Nothing, "the file is read into memory once"},
    {"g", false, Switch<kOnDevice>, "onnx-cudnn-bench keeps data on the device"},
    {"plugin_ep_libs", true, nullptr, kNoProviders},
    {"plugin_eps", true, nullptr, kNoProviders},
    {"plugin_ep_options", true, nullptr, kNoProviders},
    {"plugin_ep_force_cpu_allocator", false, nullptr, kNoProviders},
    {"list_ep_devices", false, nullptr, "onnx-cudnn-run --doctor"},
    {"select_ep_devices", true, nullptr, kDevice},
    {"filter_ep_devices", true, nullptr, kDevice},
    {"compile_ep_context", false, nullptr, kNoEngine},
    {"compile_model_path", true, nullptr, kNoEngine},
    {"compile_binary_embed", false, nullptr, kNoEngine},
    {"compile_only", false, nullptr, kNoEngine},
    {"data_shape", true, nullptr, "onnx-cudnn-bench MODEL --batches 1,8, or one call per --shape"},
    {"intra_op_num_threads", true, nullptr, "--host-threads N"},
    {"inter_op_num_threads", true, nullptr, "--streams N"},
    // Polygraphy
    {"input-shapes", true, nullptr, kShape},
    {"load-outputs", true, nullptr, "--verify FOLDER, which holds a NAME.npy for each output"},
    {"save-outputs", true, Same<kOutputDir>, kOutputs},
    {"onnxrt", false, nullptr, "--verify expected.npz compares with outputs of another runtime"},
    {"trt", false, nullptr, "--device cuda"},
    {"execution-provider", true, nullptr, kDevice},
    {"gpu", false, nullptr, "--device cuda"},
    // of another program of ours
    {"explain", false, nullptr, kExplain},
    {"target", true, nullptr,
     "onnx-cudnn-run MODEL --target h200, or onnx-cudnn-opt --explain --target h200"},
};

}  // namespace

absl::Span<const ForeignFlag> ForeignFlags() { return kFlags; }

std::string PlainName(std::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"-", ""}, {"_", ""}}));
}

const ForeignFlag* FindForeignFlag(std::string_view name) {
  const auto is_it = [&](const ForeignFlag& flag) {
    if (name.size() == 1 || flag.name.size() == 1) return flag.name == name;
    return PlainName(flag.name) == PlainName(name);
  };
  const auto found = std::find_if(std::begin(kFlags), std::end(kFlags), is_it);
  return found == std::end(kFlags) ? nullptr : &*found;
}

}  // namespace onnx_cudnn
