#include "tools/common/flag_aliases.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tools/common/foreign_flags.h"

namespace onnx_cudnn {
namespace {

using Arguments = std::vector<std::string>;

const Arguments kRunFlags = {"device",     "host-threads", "level",     "on-device",
                             "output-dir", "plan-cache",   "precision", "profile",
                             "runs",       "seed",         "shape",     "streams",
                             "target",     "trace",        "verbose",   "warm-up"};
const Arguments kBenchFlags = {"batches",    "device",  "host-threads", "plan-cache",
                               "precisions", "runs",    "seconds",      "shape",
                               "streams",    "threads", "warm-up"};

Arguments Translated(const Arguments& arguments, const Arguments& flags = kRunFlags) {
  return WithOurFlags(arguments, [&](std::string_view name) {
    return std::find(flags.begin(), flags.end(), name) != flags.end();
  });
}

TEST(WithOurFlagsTest, ReadsOtherToolsFlags) {
  EXPECT_EQ(Translated({"run", "--onnx=m.onnx", "--fp16", "--iterations", "10", "--warmUp=500"}),
            (Arguments{"run", "m.onnx", "--precision=fp16", "--runs=10", "--warm-up=500"}));
  EXPECT_EQ(Translated({"--shapes=x:1x3,y:1"}), (Arguments{"--shape=x=1x3", "--shape=y=1"}));
  EXPECT_EQ(Translated({"--shapes=x:0:1x3"}), (Arguments{"--shape=x:0=1x3"}));
  EXPECT_EQ(Translated({"--shapes=1x3"}), (Arguments{"--shape=1x3"}));
}

TEST(WithOurFlagsTest, ProfilesOfOtherToolsAreOurTableOrTrace) {
  EXPECT_EQ(Translated({"--dumpProfile", "--exportProfile=p.json"}),
            (Arguments{"--profile", "--trace=p.json"}));
  EXPECT_EQ(Translated({"-p", "p.json"}), (Arguments{"--trace=p.json"}));
}

TEST(WithOurFlagsTest, ACommaSeparatesInputsOrDims) {
  EXPECT_EQ(Translated({"--shapes=x:1,3,8,8"}), (Arguments{"--shape=x=1,3,8,8"}));
  EXPECT_EQ(Translated({"--shapes", "1,3,8,8"}), (Arguments{"--shape=1,3,8,8"}));
  EXPECT_EQ(Translated({"--shapes=x=Nx3,batch=4"}),
            (Arguments{"--shape=x=Nx3", "--shape=batch=4"}));
}

TEST(WithOurFlagsTest, ReadsPerfTestsLetters) {
  EXPECT_EQ(
      Translated({"-e", "cuda", "-m",  "times", "-r",      "10", "-I", "-x", "2",  "-o",    "99",
                  "-v", "-f",   "N:4", "-f",    "h:8 w:9", "-S", "7",  "-g", "-s", "m.onnx"}),
      (Arguments{"--device=cuda", "--runs=10", "--host-threads=2", "--level=2", "--verbose",
                 "--shape=N=4", "--shape=h=8", "--shape=w=9", "--seed=7", "--on-device",
                 "m.onnx"}));
  EXPECT_EQ(Translated({"-t", "3", "-c", "4", "-P"}, kBenchFlags),
            (Arguments{"--seconds=3", "--threads=4", "--streams=2"}));
  EXPECT_EQ(Translated({"-e=cpu"}), (Arguments{"--device=cpu"}));
}

TEST(WithOurFlagsTest, WhatHasNoEquivalentStaysWithItsValue) {
  EXPECT_EQ(Translated({"-t", "3", "-e", "qnn", "m.onnx"}),
            (Arguments{"-t=3", "-e=qnn", "m.onnx"}));
  EXPECT_EQ(Translated({"--saveEngine", "a.plan"}), (Arguments{"--saveEngine=a.plan"}));
}

TEST(WithOurFlagsTest, TheFlagsOfThisToolStay) {
  const Arguments others = {"precisions", "iterations"};
  EXPECT_EQ(Translated({"--iterations", "7", "--fp16"}, others),
            (Arguments{"--iterations", "7", "--precisions=fp16"}));
  EXPECT_EQ(Translated({"--runs=3", "--", "--fp16"}), (Arguments{"--runs=3", "--", "--fp16"}));
}

TEST(WithOurFlagsTest, UnknownFlagsStay) {
  EXPECT_EQ(Translated({"--frobnicate", "--duration=3", "-k", "x"}),
            (Arguments{"--frobnicate", "--duration=3", "-k", "x"}));
}

TEST(WithOurFlagsTest, ASwitchThatIsGivenAValueIsNotTheSwitch) {
  EXPECT_EQ(Translated({"--fp16=false", "--noTF32=0"}), (Arguments{"--fp16=false", "--noTF32=0"}));
}

// The flags that `trtexec --help` of TensorRT 10 and `onnxruntime_perf_test --help` of 1.23 list.
constexpr const char* kTrtexec[] = {"onnx",
                                    "minShapes",
                                    "optShapes",
                                    "maxShapes",
                                    "minShapesCalib",
                                    "optShapesCalib",
                                    "maxShapesCalib",
                                    "inputIOFormats",
                                    "outputIOFormats",
                                    "memPoolSize",
                                    "profilingVerbosity",
                                    "avgTiming",
                                    "refit",
                                    "stripWeights",
                                    "stripAllWeights",
                                    "weightless",
                                    "versionCompatible",
                                    "vc",
                                    "pluginInstanceNorm",
                                    "pi",
                                    "useRuntime",
                                    "leanDLLPath",
                                    "excludeLeanRuntime",
                                    "monitorMemory",
                                    "sparsity",
                                    "noTF32",
                                    "fp16",
                                    "bf16",
                                    "int8",
                                    "fp8",
                                    "int4",
                                    "best",
                                    "stronglyTyped",
                                    "directIO",
                                    "precisionConstraints",
                                    "layerPrecisions",
                                    "layerOutputTypes",
                                    "layerDeviceTypes",
                                    "decomposableAttentions",
                                    "calib",
                                    "safe",
                                    "buildDLAStandalone",
                                    "allowGPUFallback",
                                    "restricted",
                                    "saveEngine",
                                    "loadEngine",
                                    "asyncFileReader",
                                    "getPlanVersionOnly",
                                    "tacticSources",
                                    "noBuilderCache",
                                    "noCompilationCache",
                                    "errorOnTimingCacheMiss",
                                    "timingCacheFile",
                                    "preview",
                                    "builderOptimizationLevel",
                                    "maxTactics",
                                    "tilingOptimizationLevel",
                                    "l2LimitForTiling",
                                    "hardwareCompatibilityLevel",
                                    "runtimePlatform",
                                    "tempdir",
                                    "tempfileControls",
                                    "maxAuxStreams",
                                    "profile",
                                    "calibProfile",
                                    "allowWeightStreaming",
                                    "markDebug",
                                    "markUnfusedTensorsAsDebugTensors",
                                    "shapes",
                                    "loadInputs",
                                    "iterations",
                                    "warmUp",
                                    "duration",
                                    "sleepTime",
                                    "idleTime",
                                    "infStreams",
                                    "exposeDMA",
                                    "noDataTransfers",
                                    "useManagedMemory",
                                    "useSpinWait",
                                    "useCudaGraph",
                                    "timeDeserialize",
                                    "timeRefit",
                                    "separateProfileRun",
                                    "skipInference",
                                    "persistentCacheRatio",
                                    "useProfile",
                                    "allocationStrategy",
                                    "saveDebugTensors",
                                    "saveAllDebugTensors",
                                    "weightStreamingBudget",
                                    "verbose",
                                    "avgRuns",
                                    "percentile",
                                    "dumpRefit",
                                    "dumpOutput",
                                    "dumpRawBindingsToFile",
                                    "dumpProfile",
                                    "dumpLayerInfo",
                                    "dumpOptimizationProfile",
                                    "exportTimes",
                                    "exportOutput",
                                    "exportProfile",
                                    "exportLayerInfo",
                                    "useDLACore",
                                    "staticPlugins",
                                    "dynamicPlugins",
                                    "setPluginsToSerialize",
                                    "ignoreParsedPluginLibs"};
constexpr const char* kPerfTest[] = {"f",
                                     "F",
                                     "m",
                                     "e",
                                     "r",
                                     "t",
                                     "p",
                                     "x",
                                     "y",
                                     "c",
                                     "d",
                                     "o",
                                     "u",
                                     "opt_data",
                                     "opt_weight_min_size",
                                     "opt_save_prepacks",
                                     "i",
                                     "S",
                                     "T",
                                     "C",
                                     "R",
                                     "A",
                                     "shrink_arena_between_runs",
                                     "enable_cuda_mempool",
                                     "M",
                                     "s",
                                     "v",
                                     "I",
                                     "P",
                                     "q",
                                     "z",
                                     "D",
                                     "Z",
                                     "spin_duration_us",
                                     "spin_backoff_max",
                                     "n",
                                     "hold_ms_after_session_creation",
                                     "enable_telemetry",
                                     "telemetry_smoke_sessions",
                                     "l",
                                     "g",
                                     "X",
                                     "plugin_ep_libs",
                                     "plugin_eps",
                                     "plugin_ep_options",
                                     "list_ep_devices",
                                     "select_ep_devices",
                                     "filter_ep_devices",
                                     "plugin_ep_force_cpu_allocator",
                                     "compile_ep_context",
                                     "compile_model_path",
                                     "compile_binary_embed",
                                     "compile_only",
                                     "data_shape"};

// Values that the flags of those tools take, where ours depend on them.
std::string ValueFor(std::string_view name) {
  if (name == "shapes") return "x:1x3";
  if (name == "f") return "N:4";
  if (name == "m") return "times";
  if (name == "e") return "cuda";
  return "2";
}

void ExpectKnown(const char* name) {
  const ForeignFlag* flag = FindForeignFlag(name);
  ASSERT_NE(flag, nullptr) << name;
  EXPECT_EQ(flag->name, name);
  EXPECT_FALSE(flag->answer.empty()) << name;
  EXPECT_TRUE(absl::StartsWith(SuggestionFor(name, kRunFlags), "here: ")) << name;
  if (flag->ours == nullptr) return;
  const std::string dashes = flag->name.size() == 1 ? "-" : "--";
  Arguments given = {dashes + name};
  if (flag->takes_value) given.push_back(ValueFor(name));
  // Some program of ours takes it, by this or another name, whatever other programs answer.
  const bool is_own = std::find(kRunFlags.begin(), kRunFlags.end(), name) != kRunFlags.end();
  EXPECT_TRUE(is_own || Translated(given) != given || Translated(given, kBenchFlags) != given)
      << name;
  for (const Arguments& flags : {kRunFlags, kBenchFlags}) {
    for (const std::string& argument : Translated(given, flags)) {
      const std::string ours = argument.substr(2, argument.find('=') - 2);
      const bool is_ours = std::find(flags.begin(), flags.end(), ours) != flags.end();
      EXPECT_TRUE(is_ours || absl::StartsWith(argument, dashes + name)) << argument;
    }
  }
}

TEST(ForeignFlagsTest, EveryFlagOfTrtexecIsTakenOrAnswered) {
  for (const char* name : kTrtexec) ExpectKnown(name);
}

TEST(ForeignFlagsTest, EveryFlagOfPerfTestIsTakenOrAnswered) {
  for (const char* name : kPerfTest) ExpectKnown(name);
}

TEST(ForeignFlagsTest, LettersDifferByCaseAndLongNamesByLettersAlone) {
  EXPECT_NE(FindForeignFlag("m"), FindForeignFlag("M"));
  EXPECT_EQ(FindForeignFlag("saveengine"), FindForeignFlag("save-engine"));
  EXPECT_EQ(FindForeignFlag("k"), nullptr);
}

TEST(SuggestionForTest, KnowsFlagsOfOtherTools) {
  EXPECT_EQ(SuggestionFor("loadInputs", kRunFlags), "here: --input name=FILE.npy");
  EXPECT_EQ(SuggestionFor("load-inputs", kRunFlags), "here: --input name=FILE.npy");
  EXPECT_EQ(SuggestionFor("explain", kRunFlags),
            "here: onnx-cudnn-opt MODEL --explain --target h200");
}

TEST(SuggestionForTest, FindsASimilarName) {
  EXPECT_EQ(SuggestionFor("warm-upp", kRunFlags), "did you mean --warm-up?");
  EXPECT_EQ(SuggestionFor("precison", kRunFlags), "did you mean --precision?");
  EXPECT_EQ(SuggestionFor("frobnicate", kRunFlags), "");
}

}  // namespace
}  // namespace onnx_cudnn
