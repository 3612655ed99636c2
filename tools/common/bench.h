// Measures a model as the committed results are measured: data on the device, one record a
// configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
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
};

// tools/bench/results/*.json are lists of these.
struct BenchRecord {
  std::string who = "onnx-cudnn";
  std::string model;      // "resnet50"
  std::string precision;  // "fp16"
  int64_t batch = 1;
  double median_ms = 0, p99_ms = 0;  // of runs one at a time, each waited for
  double images_per_s = 0;           // back to back
  double setup_s = 0;                // from loading the file to the first result, with context_s
  double context_s = 0;              // of it: opening the device; 0 when the process did before
  double tune_s = 0;                 // of it: measuring
  int64_t tuned_signatures = 0;      // that were measured
  int64_t cached_signatures = 0;     // that the plan cache knew
  int64_t peak_bytes = 0;            // weights, arena, inputs and outputs
  std::string device, driver, cuda, cudnn;
  std::string commit, date, run;
};

// Loads the model, runs it once on random inputs from the host, then over inputs and outputs in the
// device's memory.
absl::StatusOr<BenchRecord> Measure(const BenchRequest& request);

// One JSON list.
std::string RecordsJson(const std::vector<BenchRecord>& records);
// One line for people.
std::string RecordText(const BenchRecord& record);

}  // namespace onnx_cudnn
