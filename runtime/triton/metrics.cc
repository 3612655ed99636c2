#include "runtime/triton/metrics.h"

#include <iterator>
#include <utility>

#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

struct Metric {
  TRITONSERVER_MetricKind kind;
  const char* name;
  const char* description;
  double (*value)(const MetricValues& values);
};
constexpr TRITONSERVER_MetricKind kCounter = TRITONSERVER_METRIC_KIND_COUNTER;
constexpr TRITONSERVER_MetricKind kGauge = TRITONSERVER_METRIC_KIND_GAUGE;
constexpr Metric kMetrics[] = {
    {kGauge, "onnx_cudnn_load_seconds", "Time of opening the device, reading and rewriting",
     [](const MetricValues& v) {
       return (v.session.device_ms + v.session.load_ms + v.session.optimize_ms) / 1000;
     }},
    {kCounter, "onnx_cudnn_programs_built", "Programs built, one for each set of input shapes",
     [](const MetricValues& v) { return static_cast<double>(v.session.programs_built); }},
    {kCounter, "onnx_cudnn_program_build_seconds", "Time of building them",
     [](const MetricValues& v) { return v.session.plan_ms / 1000; }},
    {kGauge, "onnx_cudnn_programs_held", "Programs kept",
     [](const MetricValues& v) { return static_cast<double>(v.session.programs_held); }},
    {kGauge, "onnx_cudnn_weight_bytes", "Weights in memory of the device",
     [](const MetricValues& v) { return static_cast<double>(v.session.weight_bytes); }},
    {kGauge, "onnx_cudnn_arena_bytes",
     "Intermediate values of the Program built last, for each Run at a time",
     [](const MetricValues& v) { return static_cast<double>(v.session.arena_bytes); }},
    {kCounter, "onnx_cudnn_graph_captures", "CUDA graphs captured",
     [](const MetricValues& v) { return static_cast<double>(v.session.graph_captures); }},
    {kCounter, "onnx_cudnn_runs", "Runs, each of the requests of one batch",
     [](const MetricValues& v) { return static_cast<double>(v.runs); }},
    {kCounter, "onnx_cudnn_padding_rows", "Rows added to batches up to the next of batch_sizes",
     [](const MetricValues& v) { return static_cast<double>(v.padding_rows); }},
};
static_assert(std::size(kMetrics) == kMetricCount);

}  // namespace

MetricFamilies::MetricFamilies() {
  for (int i = 0; i < kMetricCount; ++i) {
    const Metric& metric = kMetrics[i];
    const absl::Status made = StatusOf(
        TRITONSERVER_MetricFamilyNew(&families_[i], metric.kind, metric.name, metric.description));
    if (made.ok()) continue;
    families_[i] = nullptr;
    Log(TRITONSERVER_LOG_WARN,
        std::string("no metric ") + metric.name + ": " + std::string(made.message()));
  }
}

MetricFamilies::~MetricFamilies() {
  for (TRITONSERVER_MetricFamily* family : families_) {
    if (family != nullptr) LogIfError(TRITONSERVER_MetricFamilyDelete(family));
  }
}

SessionMetrics::SessionMetrics(const MetricFamilies& families, const std::string& model,
                               const std::string& version, const std::string& device) {
  const std::pair<const char*, const std::string&> texts[] = {
      {"model", model}, {"version", version}, {"device", device}};
  const TRITONSERVER_Parameter* labels[std::size(texts)];
  for (size_t i = 0; i < std::size(texts); ++i) {
    labels[i] = TRITONSERVER_ParameterNew(texts[i].first, TRITONSERVER_PARAMETER_STRING,
                                          texts[i].second.c_str());
  }
  for (int i = 0; i < kMetricCount; ++i) {
    if (families.family(i) == nullptr) continue;
    const absl::Status made = StatusOf(
        TRITONSERVER_MetricNew(&metrics_[i], families.family(i), labels, std::size(labels)));
    if (!made.ok()) metrics_[i] = nullptr;
    LogIfError(made);
  }
  for (const TRITONSERVER_Parameter* label : labels) {
    TRITONSERVER_ParameterDelete(const_cast<TRITONSERVER_Parameter*>(label));
  }
}

SessionMetrics::~SessionMetrics() {
  for (TRITONSERVER_Metric* metric : metrics_) {
    if (metric != nullptr) LogIfError(TRITONSERVER_MetricDelete(metric));
  }
}

void SessionMetrics::Update(const MetricValues& values) {
  const absl::MutexLock lock(mutex_);
  for (int i = 0; i < kMetricCount; ++i) {
    if (metrics_[i] == nullptr) continue;
    const double value = kMetrics[i].value(values);
    if (kMetrics[i].kind == kGauge) {
      LogIfError(TRITONSERVER_MetricSet(metrics_[i], value));
    } else if (value > counted_[i]) {
      LogIfError(TRITONSERVER_MetricIncrement(metrics_[i], value - counted_[i]));
      counted_[i] = value;
    }
  }
}

}  // namespace onnx_cudnn::triton
