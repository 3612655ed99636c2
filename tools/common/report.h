// The results of onnx-cudnn-run, as text for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/run_times.h"
#include "runtime/base/start_times.h"
#include "tools/common/elements.h"
#include "tools/common/inputs.h"
#include "tools/common/new_shapes.h"
#include "tools/common/profile_report.h"
#include "tools/common/verify.h"

namespace onnx_cudnn {

struct OutputReport {
  std::string name, type;  // "scores", "f32[1,1000]"
  bool is_numbers = true;  // false: there is no summary and there are no scores
  Summary summary;
  std::vector<std::vector<Score>> top;  // one per row along the last axis
  std::string file;                     // that it was written to; empty: none
};

struct InputReport {
  std::string name, type, source;
};

struct RunReport {
  std::string model, device, note;
  std::string precision;  // "tf32"
  bool precision_was_asked = false;
  std::string graph_note;  // why runs were not captured in a CUDA graph
  std::vector<InputReport> inputs;
  std::vector<OutputReport> outputs;
  std::vector<std::string> labels;  // by index
  double first_run_ms = 0;          // without building
  double first_ms = 0;              // with it
  RunTimes first_times;             // of first_ms
  std::vector<StartTime> start;     // until the end of the first Run
  double warm_up_ms = 0;
  std::vector<double> runs_ms;
  SessionStats stats;
  std::vector<VerifyReport> verified;
  std::vector<CheckedPartition> partitions;  // of --check-partitions; of --verify the first wrong
  std::vector<NewShapeTimes> new_shapes;
  std::optional<RunProfile> profile;
  ProfileBy profile_by = ProfileBy::kStep;
  std::string trace;       // the file of --trace; empty: none
  std::string warning;     // that values overflow; empty: none
  std::string divergence;  // why no partition stands for outputs that differ; empty: one does

  bool verify_ok() const;
  bool partitions_ok() const;
  // In the order of the Program; nullptr: none is wrong.
  const CheckedPartition* first_wrong() const;
};

// The first in the order of the Program; nullptr: none.
const CheckedPartition* FirstOf(const std::vector<CheckedPartition>& partitions,
                                absl::FunctionRef<bool(const CheckedPartition&)> is_meant);

// Describes an output, with the `top` largest elements of each row; 0: none.
OutputReport DescribeOutput(const std::string& name, const HostTensor& tensor, int top);

std::string FormatText(const RunReport& report, bool verbose);

// Whether the last Run was one of several Programs.
bool RunsInSegments(const SessionStats& stats);
// What that Run did: "2 runs of programs, 1 nodes between them (0.1 ms, 3 % of the run), …".
std::string SegmentsText(const SessionStats& stats);

// One line with the keys of kRunJsonHelp. "top", "label", "timing", "verify", "partitions",
// "op_by_op", "first_wrong", "first_overflow", "warning", "profile" (as ProfileJson makes it),
// "trace" (a file), "segments" and "new_shapes" stand only
// when there is something to say; a number that is not finite is null.
std::string FormatJson(const RunReport& report);

// What --json prints, for --help.
inline constexpr std::string_view kRunJsonHelp =
    R"(--json prints: model, device, note, precision, graph_note, device_ms, load_ms, optimize_ms, plan_ms,
  tune_ms, tuned_signatures, cached_signatures, tune_notes [],
  builds [{inputs, quick, bind_ms, fold_ms, partition_ms, compile_ms, plan_ms, total_ms}], first_run_ms,
  first_run_parts (as those of new_shapes, program_ms with plan_ms), start [{name, begin_ms, end_ms, ms, stretches}] (until the end of the
             first run, over all threads: they overlap), weight_bytes, arena_bytes,
  programs_built, nodes, host_nodes,
  inputs [{name, type, source}], outputs [{name, type, file, elements, not_finite, min, max, mean, top [[{index, label, value}]]}],
  timing {runs, warm_up_ms, min_ms, median_ms, mean_ms, p90_ms, p99_ms, ms []},
  verify {ok, divergence, outputs [{name, ok, rtol, atol, tolerance, largest_difference, largest_expected, largest_relative, largest_ulps, cosine, beyond, type}]},
  partitions [{index, engine, variant, ops, output, ok, largest_difference, largest_expected, share_of_tolerance, largest_relative,
             largest_ulps, cosine, note, share_of_f32, overflowed, op_by_op [{engine, variant, ops … note}]}], first_wrong, first_overflow, warning,
  profile {captured, graph_note, runs, streams, segments, run_us, steps_us, bytes_in, bytes_out, copy_in_us, copy_out_us,
    steps [{index, segment, stream, engine, variant, nodes [], ops [], us, share, floor_us, of_floor, flops, bytes, gb_per_s, tflop_per_s}],
    groups [{name, steps, us, share, floor_us, of_floor, flops, bytes, gb_per_s, tflop_per_s}]}, trace (the file),
  segments {programs, nodes_between, between_ms, size_reads, size_reads_ms, run_ms} of the last run, if it was one of several programs,
  new_shapes [{inputs, first_ms [], steady_ms, longest_ms, beyond_ms, longest_run, first_parts, longest_parts, swapped}];
             the parts are what the first and the longest run spent: {program_ms (building), load_ms (kernels), lock_ms (waiting for other
             threads), executor_ms, allocate_ms, pin_ms, make_ms and upload_ms (constants), capture_ms, copy_ms, launch_ms,
             library_ms (launches by cuBLASLt and cuDNN), device_ms, other_ms}
--bisect --json: model, differs, pass, pass_is_enough, disabled_passes [], keep_f32 [], nodes [], reduced, tensors, runs, ran_out, s
--max-error --json: model, precision, most, without (the largest), outputs_without {output: error}, reached, error, outputs {}, keep_f32 [], runs
--check --json: model, target, runs, inputs [{name, type}], file_nodes, engines {name: nodes}, refused [{node, op, opset, invalid, reason}],
  unchecked, ms
--doctor --json: gpu_runs, build {version, commit, compiler, cuda, cuda_architectures, onnx, cudnn_frontend, oldest_opset, newest_opset},
  driver, driver_cuda, gpus [{ordinal, product, compute_capability, memory_bytes}], libraries [{name, version, file}], tune_worker, cores,
  threads, memory_bytes, plan_cache {path, entries, for_this_gpu, failed}, findings [{what, remedy, without, is_needed}]
)";

}  // namespace onnx_cudnn
