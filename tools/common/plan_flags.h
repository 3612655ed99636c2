// Flags about planning that several tools share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

inline constexpr char kPartitionerHelp[] =
    "How ops are grouped into partitions. greedy: takes the largest group that an engine "
    "offers; cost: searches for the grouping with the lowest predicted time.";
inline constexpr char kMaxMemoryHelp[] =
    "Limit for weights and arenas: bytes, or 512M, 1G, 1GiB, 1GB. To stay below it, fewer streams "
    "are used, "
    "then fewer concurrent runs; if that is not enough, the program fails (exit code 6). "
    "0: no limit.";

inline constexpr char kDevicesHelp[] =
    "GPUs that run the model, by numbers from 0 on among the visible ones and separated by commas, "
    "or all: each has its own weights, and a run goes to the one with the fewest runs. Empty: the "
    "first one.";

inline constexpr char kShapeHelp[] =
    "name=1x3x224x224, once per input; the shape alone if the model has one input. N=4 gives a "
    "symbolic dim a number. 1,3,224,224 and name:1x3 are taken too, and --shapes is the same. Dims "
    "that are not given are set to 1, height and width of images to 224; the report lists them.";

inline constexpr char kHostThreadsHelp[] =
    "Threads that a run may use on the host. 0: one per core, which is also the maximum.";
inline constexpr char kShapeBucketsHelp[] =
    "Symbolic dims of inputs, separated by commas, all of them, or found (sizes that a run finds): "
    "they are padded to buckets (16, 24, 32, 48, 64, 96 ...), and one program serves all lengths "
    "of "
    "a bucket, with the padding masked. What allows no padding has exact shapes, and the report "
    "says why. Empty: none.";

inline constexpr char kTuneBudgetHelp[] =
    "On a GPU: seconds that may be spent on measuring candidates; the fastest is used, "
    "and --partitioner cost uses measured times. onnx-cudnn-tune-worker, beside this "
    "program, measures: candidates that hang or crash there are skipped from then on.";
inline constexpr char kTuneHelp[] =
    "When to tune. foreground: before the first run; background (60 seconds unless "
    "--tune-budget is given): runs start at once with a program chosen by predictions "
    "and never wait; if tuning finds a faster program, later runs use it. The swap is "
    "reported; it may change the last bits of results, within the tolerance of tuning. "
    "Tuning ends with this program.";
inline constexpr char kFirstProgramHelp[] =
    "Which program the first runs for new shapes use. best: the one that the other flags ask for, "
    "which the first run waits for; quick, on a GPU: one of engines that compile nothing (all but "
    "cuDNN, which runs what no other takes); the best one is built beside the runs, and later runs "
    "use it if it is faster, which may change the last bits of results.";
inline constexpr char kTuneWorkerHelp[] =
    "For tuning: path of the program that measures. Empty: onnx-cudnn-tune-worker beside "
    "this program; if it is missing, this process measures, except in the background, "
    "where nothing is measured.";
inline constexpr char kPlanCacheHelp[] =
    "On a GPU: a file that stores measurements, and which candidates hung, crashed or "
    "were wrong; read at load, and written after further measurements. Without "
    "--tune-budget its content is used and nothing is measured.";

inline constexpr char kPrecisionHelp[] =
    "Precision of f32 arithmetic. auto: tf32 on a GPU, strict on the CPU; strict: the "
    "model's own types; tf32: products may round their operands to TF32; fp16 or bf16: "
    "products and the element-wise ops after them use that type, range-sensitive ops "
    "(Softmax, reductions, norms, Exp, Log ...) stay in f32.";

inline constexpr char kPinHelp[] =
    "A file of rules on partitions, one per line: 'pin cudnn conv1 relu1' (one partition "
    "of cudnn contains both), 'forbid gemm fc', 'forbid * conv1 relu1' (no partition "
    "contains both), '# comment'.";

inline constexpr char kOpLibraryHelp[] =
    "Shared libraries that define ops of your own (onnx_cudnn_op.h, docs/custom-ops.md), separated "
    "by commas. They are code, and run in this program.";

inline constexpr char kKeepF32Help[] =
    "With --precision fp16 or bf16: nodes that stay in f32, by name, of unnamed ones that of an "
    "output, as onnx-cudnn-opt --print shows them; onnx-cudnn-run --max-error finds them.";

inline constexpr char kCapabilityHelp[] =
    "8.0: our own kernels treat the GPU as one of this compute capability; cuDNN and "
    "cuBLASLt still use its real one. Empty: the real one.";

// 80 for "8.0"; 0 for "". InvalidArgument: any other text.
absl::StatusOr<int> ParseCapability(std::string_view text);

// The content of the file of --pin; empty if there is no path.
//   errors  InvalidArgument: a line that is no rule, with the file's name; those of ReadFile
absl::StatusOr<std::string> ReadPinFile(const std::string& path);
// `status` of a Session with pins, whose messages name the lines "pins:LINE", with the file's name.
absl::Status WithPinFile(const absl::Status& status, const std::string& path);

// The bytes of "4096", "512M" or "512MiB" (powers of 1024), "1GB" (of 1000). InvalidArgument, which
// names `flag`: another text, or too many for int64_t.
absl::StatusOr<int64_t> ParseBytes(std::string_view flag, std::string_view text);

// A finite number of 0 or more; nullopt for "". InvalidArgument, which names `flag`: another text.
absl::StatusOr<std::optional<double>> ParseTolerance(std::string_view flag, std::string_view text);

std::string_view NameOf(PrecisionChoice precision);
// InvalidArgument: an unknown name.
absl::StatusOr<PrecisionChoice> ParsePrecision(std::string_view text);

// SessionOptions::devices of "0", "1", ... or "all". InvalidArgument: another text.
absl::StatusOr<std::vector<int>> ParseDevices(const std::vector<std::string>& texts);

// SessionOptions::device of "auto", "cpu", "cuda" or "cuda:1", which sets `devices`, too.
// InvalidArgument: another text, or a number beside `devices`.
absl::StatusOr<DeviceChoice> ParseDevice(std::string_view text, std::vector<int>& devices);

// InvalidArgument: neither greedy nor cost.
absl::StatusOr<PartitionerChoice> ParsePartitioner(std::string_view text);
std::string_view NameOf(PartitionerChoice choice);

// InvalidArgument: neither best nor quick.
absl::StatusOr<FirstProgram> ParseFirstProgram(std::string_view text);

// InvalidArgument: neither foreground nor background.
absl::StatusOr<TuneMode> ParseTuneMode(std::string_view text);

}  // namespace onnx_cudnn
