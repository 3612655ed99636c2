// The results of Session::Profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_cudnn {

struct ProfileOptions {
  int runs = 20;  // ≥ 1: medians are over them; two more warm up
};

// One step of a Program: the ops of a partition as one launch, or few.
struct ProfiledStep {
  int index = 0;        // number of the partition, as in onnx-cudnn-opt --explain --verbose; -1:
                        // a node or a copy between Programs
  int segment = 0;      // which run of a Program in a Run; of a node between them: the next one
  int stream = 0;       // that it runs on
  std::string engine;   // "cudnn"; "between", "copy" where index is -1
  std::string variant;  // the library's plan, or the kernel and its tile
  // The names of its ONNX nodes after the rewrites (of the first output where a node has none), and
  // their ops.
  std::vector<std::string> nodes, ops;
  double us = 0;        // median
  double share = 0;     // of the sum over all steps, 0 to 1
  double floor_us = 0;  // lower bound: the work as one kernel at the device's peaks
  int64_t flops = 0;
  int64_t bytes = 0;  // of operands and constants, each read or written once

  double of_floor() const { return us > 0 ? floor_us / us : 0; }  // 1: at the lower bound
  double gb_per_s() const { return us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0; }
  double tflop_per_s() const { return us > 0 ? static_cast<double>(flops) / us / 1e6 : 0; }
};

struct ProfiledSpan {
  double begin_us = 0;  // after the begin of its run, by the device's clock
  double us = 0;
};

struct ProfiledRun {
  double begin_us = 0;              // by the host's CLOCK_MONOTONIC, when work was first enqueued
  bool is_replay = false;           // of a CUDA graph
  std::vector<ProfiledSpan> steps;  // parallel to RunProfile::steps
  ProfiledSpan copies_in, copies_out;
};

// Between two steps of a stream stands a mark, so steps do not overlap with those before and after
// them as in other Runs: their sum is longer than run_us by what overlapping saves and marks take.
struct RunProfile {
  int streams = 1;
  int segments = 0;          // runs of Programs in a Run in segments; 0: one Program runs the model
  bool is_captured = false;  // the measured runs are replays of a CUDA graph
  std::string graph_note;    // why they are not
  double run_us = 0;         // median of Runs without marks, as Binding::TimeRuns times them
  double steps_us = 0;       // sum of the steps' medians
  // Copies between the caller's tensors and the Program's in each run, and medians of their times.
  int64_t bytes_in = 0, bytes_out = 0;
  double copy_in_us = 0, copy_out_us = 0;
  std::vector<ProfiledStep> steps;  // in the order of the graph; without views, which do not launch
  std::vector<ProfiledRun> runs;    // all, the two that warm up first
};

}  // namespace onnx_cudnn
