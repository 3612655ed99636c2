// Measures a model as for the committed results: data on the device, one record per configuration.
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
  std::string model;  // path of the file
  SessionOptions session;
  // Extent 0 of every input where it is not a number. nullopt: 1, or that of the model's inputs if
  // all are numbers.
  std::optional<int64_t> batch;
  std::vector<NamedText> shapes;  // for inputs by name, instead of `batch`
  int runs = 200;                 // timed one at a time
  double warm_up_ms = 500;
  double seconds = 3;  // duration of the back-to-back measurement
  int threads = 1;     // for back-to-back runs over one Session, each with its own Binding
};

// tools/bench/results/*.json are lists of these (RecordsJson).
struct BenchRecord {
  std::string who = "onnx-cudnn";
  std::string model;        // "resnet50"
  std::string precision;    // "fp16"
  std::string partitioner;  // "greedy"
  int64_t batch = 1;
  int threads = 1;
  bool cuda_graph = false;  // runs replay a CUDA graph
  std::string graph_note;   // why runs do not, although requested; not in the files
  // Of runs one at a time, each synchronized, with data on the device.
  double median_ms = 0, mean_ms = 0, p90_ms = 0, p95_ms = 0, p99_ms = 0;
  double images_per_s = 0;  // back to back, over all threads
  // On a GPU, per run: copying all inputs from pinned memory, all outputs to it, and the host time
  // of Run without waiting for its end.
  std::optional<double> h2d_ms, d2h_ms, enqueue_ms;
  std::optional<double> clock_mhz, power_w;  // during back-to-back runs, if nvidia-smi reports them
  std::optional<double> joules;  // of a back-to-back run, if the GPU has a counter of them
  double setup_s = 0;            // from the file to the first result, including context_s
  // Part of setup_s: waiting for the device, which is opened while the model is loaded; 0 if the
  // process had opened it before.
  double context_s = 0;
  double tune_s = 0;              // part of setup_s: measuring
  int64_t tuned_signatures = 0;   // measured signatures
  int64_t cached_signatures = 0;  // signatures found in the plan cache
  int64_t peak_bytes = 0;         // weights; arena, inputs and outputs of every thread
  // Of a Run in segments (SessionStats); nullopt: the model is one Program.
  std::optional<int64_t> segments, nodes_between, size_reads;
  std::optional<double> between_ms, size_reads_ms, segmented_ms;
  std::string device, driver, cuda, cudnn;
  std::string commit, date, run;

  double noise() const { return (p90_ms - median_ms) / median_ms; }
};

// A record of what does not change between measurements.
BenchRecord RecordOf(const Session& session, const BenchRequest& request, int64_t batch);

// Loads the model, runs it once on random inputs in host memory, then measures it with inputs and
// outputs in device memory.
absl::StatusOr<BenchRecord> Measure(const BenchRequest& request);

// Measures the request's partitioner and `other` in alternation, so that changes of clock or load
// affect both alike. Both Sessions are open; runs are timed one at a time. Returns one record of
// each, in this order; times are medians of `rounds` rounds.
absl::StatusOr<std::vector<BenchRecord>> MeasureAlternating(const BenchRequest& request,
                                                            PartitionerChoice other, int rounds);

}  // namespace onnx_cudnn
