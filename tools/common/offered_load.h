// Latencies of a model under requests that arrive at random times, whether or not earlier ones have
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/session.h"
#include "tools/common/bench.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// The arrival times of a Poisson process of `per_s` requests per second, in seconds from 0 on, up
// to `seconds`. Equal arguments give equal times.
std::vector<double> PoissonArrivals(double per_s, double seconds, uint64_t seed);

// What became of the requests of one load.
struct ServedLoad {
  std::vector<double> latencies_ms;  // of those that succeeded, from the time of arrival
  int64_t refused = 0, failed = 0;
  double seconds = 0;        // from the first arrival to the last end
  absl::Status first_error;  // of those that failed
};
// Starts a request at each arrival, or as soon after it as this thread can. `submit` must not wait;
// it calls `ended` once, from any thread: ResourceExhausted is a refusal.
using RequestEnded = std::function<void(const absl::Status& status)>;
ServedLoad OfferLoad(absl::Span<const double> arrivals_s,
                     absl::FunctionRef<void(RequestEnded ended)> submit);

// Builds and captures, on each device of `session`, what a load runs, which it would wait for; says
// which batches on standard error.
//   made          the inputs of a request, of a model that a Batcher takes if max_batch is not 0
//   max_batch     rows of a Run of the Batcher; 0: requests run alone
//   runs_at_once  threads that run requests or batches
absl::Status WarmUpForLoad(const Session& session, const std::vector<ModelInput>& made,
                           int64_t max_batch, int runs_at_once);

struct LoadRequest {
  BenchRequest bench;           // whose seconds are those of one load; threads run requests
  std::vector<double> offered;  // requests per second; empty: the largest load is searched
  double p99_ms = 0;            // the bound of the search
  int64_t max_batch = 0;        // rows of a run of a Batcher; 0: each request runs alone
  double max_delay_ms = 1;      // of the Batcher
  uint64_t seed = 0;            // of the arrivals
};

// One load. Latencies include waiting, and the copies of host memory.
struct LoadRecord {
  BenchRecord bench;  // of which model, precision, batch (rows of a request), device are used
  double offered_qps = 0;
  double arrived_qps = 0;   // the requests that were drawn, while the load lasted
  double achieved_qps = 0;  // those that were served, until the last of them ended
  int64_t requests = 0, refused = 0, failed = 0;
  int64_t max_batch = 0;
  double max_delay_ms = 0;
  double mean_batch = 0;  // rows of a run
  double mean_ms = 0, p50_ms = 0, p90_ms = 0, p95_ms = 0, p99_ms = 0, max_ms = 0;

  // Whether all were served, about as fast as they came.
  bool KeepsUp() const;
};

// One record for each load, in the order in which they were offered; a search ends with a load
// that keeps up within the bound twice, the largest or 0.9, 0.81 … of it.
//   errors  those of loading and of the first request; ResourceExhausted: the search finds that
//           the lightest load misses the bound
absl::StatusOr<std::vector<LoadRecord>> MeasureLoads(const LoadRequest& request);

// A JSON list.
std::string LoadsJson(const std::vector<LoadRecord>& records);
// For people: a line of names, and a line for a record.
std::string LoadTableHeader(const LoadRecord& first);
std::string LoadTableRow(const LoadRecord& record);

}  // namespace onnx_cudnn
