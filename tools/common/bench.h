// Measures a model as the committed results are measured: data on the device, one record a
// configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

struct BenchRequest {
  std::string model;  // file
  SessionOptions session;
  int64_t batch = 1;              // extent 0 of every input whose own is no number
  std::vector<NamedText> shapes;  // instead, of the inputs that it names
  int runs = 200;                 // timed alone
  double warm_up_ms = 500;
  double seconds = 3;  // timed back to back
  int threads = 1;     // that run back to back over one Session, each with its own Binding
};

// tools/bench/results/*.json are lists of these (RecordsJson).
struct BenchRecord {
  std::string who = "onnx-cudnn";
  std::string model;        // "resnet50"
  std::string precision;    // "fp16"
  std::string partitioner;  // "greedy"
  int64_t batch = 1;
  int threads = 1;
  bool cuda_graph = false;  // runs are replays of one
  std::string graph_note;   // why they are not although they might; not in the files
  // Of runs one at a time, each waited for, data on the device.
  double median_ms = 0, mean_ms = 0, p90_ms = 0, p95_ms = 0, p99_ms = 0;
  double images_per_s = 0;  // back to back, of all threads
  // On a GPU, of one run: copying all inputs from pinned memory, all outputs to it, and Run without
  // waiting for its end.
  std::optional<double> h2d_ms, d2h_ms, enqueue_ms;
  std::optional<double> clock_mhz, power_w;  // amid the runs back to back, where nvidia-smi says
  double setup_s = 0;                        // from the file to the first result, with context_s
  double context_s = 0;           // of it: opening the device; 0 when the process did before
  double tune_s = 0;              // of it: measuring
  int64_t tuned_signatures = 0;   // that were measured
  int64_t cached_signatures = 0;  // that the plan cache knew
  int64_t peak_bytes = 0;         // weights; arena, inputs and outputs of every thread
  std::string device, driver, cuda, cudnn;
  std::string commit, date, run;

  double noise() const { return (p90_ms - median_ms) / median_ms; }
};

// Loads the model, runs it once on random inputs from the host, then over inputs and outputs in the
// device's memory.
absl::StatusOr<BenchRecord> Measure(const BenchRequest& request);

// The same under the request's partitioner and under `other`, both open, timed alone in turns: what
// the machine does meanwhile meets both. A record of each, in this order; times are medians of
// `rounds` rounds.
absl::StatusOr<std::vector<BenchRecord>> MeasureInTurns(const BenchRequest& request,
                                                        PartitionerChoice other, int rounds);

}  // namespace onnx_cudnn
