// Flags about planning that several tools have.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

inline constexpr char kPartitionerHelp[] =
    "How ops are grouped: greedy takes the largest group that each engine offers; cost searches "
    "for the cheapest by predicted time.";
inline constexpr char kMaxMemoryHelp[] =
    "Bytes that weights and arenas may take: above it fewer streams are used, then fewer runs at "
    "once, then it is an error (exit code 6). 0: no limit.";

inline constexpr char kTuneBudgetHelp[] =
    "On a GPU: seconds that may go into measuring what engines offer; the fastest is taken, and "
    "--partitioner cost goes by what was measured. It is done by onnx-cudnn-tune-worker beside "
    "this program: what hangs or crashes there is left out from then on.";
inline constexpr char kTuneHelp[] =
    "When that is done: foreground: before the first run; background (60 seconds unless "
    "--tune-budget says other): runs never wait, they begin with what heuristics chose, and a "
    "program that was tuned meanwhile and is faster serves those after it. Such a swap is "
    "reported; it may change the last bits of results, within the tolerance of tuning. The end of "
    "this program ends tuning.";
inline constexpr char kTuneWorkerHelp[] =
    "Of tuning: the program that measures. Empty: onnx-cudnn-tune-worker beside this program; "
    "where there is none this process measures, in the background nobody.";
inline constexpr char kPlanCacheHelp[] =
    "On a GPU: a file of what was measured, and of what hung, crashed or was wrong, read at load "
    "and written when more was. Without --tune-budget what it holds is used and nothing is "
    "measured.";

inline constexpr char kPrecisionHelp[] =
    "How exact f32 arithmetic is: auto: tf32 on a GPU, strict on the CPU device; strict; tf32: "
    "products round their operands where the target "
    "can; "
    "fp16 or bf16: products and the element-wise ops after them in that type, range-sensitive ops "
    "(Softmax, reductions, norms, Exp, Log ...) in f32 still.";

inline constexpr char kPinHelp[] =
    "A file of partitions that must or must not be, one rule a line: 'pin cudnn conv1 relu1' (one "
    "partition of cudnn holds both), 'forbid gemm fc', 'forbid * conv1 relu1' (none holds both), "
    "'# comment'.";

inline constexpr char kCapabilityHelp[] =
    "8.0: our kernels take the GPU for one of this compute capability; cuDNN and cuBLASLt still "
    "see "
    "what it has. Empty: its own.";

// 80 for "8.0"; 0 for "". InvalidArgument: no such number.
absl::StatusOr<int> ParseCapability(std::string_view text);

// The text of the file of --pin; empty: no path.
absl::StatusOr<std::string> ReadPinFile(const std::string& path);

std::string_view NameOf(PrecisionChoice precision);
// InvalidArgument: none of those names.
absl::StatusOr<PrecisionChoice> ParsePrecision(std::string_view text);

absl::StatusOr<DeviceChoice> ParseDevice(std::string_view text);

// InvalidArgument: neither greedy nor cost.
absl::StatusOr<PartitionerChoice> ParsePartitioner(std::string_view text);
std::string_view NameOf(PartitionerChoice choice);

// InvalidArgument: neither foreground nor background.
absl::StatusOr<TuneMode> ParseTuneMode(std::string_view text);

}  // namespace onnx_cudnn
