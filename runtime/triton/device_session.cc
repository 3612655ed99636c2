#include "runtime/triton/device_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

constexpr absl::Duration kUpdatePeriod = absl::Seconds(1);

absl::StatusOr<Tensor> Zeros(DType dtype, const std::vector<int64_t>& shape) {
  ASSIGN_OR_RETURN(Tensor zeros, StatusOr(Tensor::Allocate(dtype, shape)));
  if (dtype != DType::kString && zeros.bytes() > 0) std::memset(zeros.raw(), 0, zeros.bytes());
  return zeros;
}

}  // namespace

bool AreKnown(const std::vector<ValueInfo>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](const ValueInfo& output) {
    return output.ranked && std::all_of(output.dims.begin(), output.dims.end(),
                                        [](const auto& dim) { return dim.value >= 0; });
  });
}

void DeviceSession::CountRun(int64_t padding_rows) {
  runs_ += 1;
  padding_rows_ += padding_rows;
}

void DeviceSession::UpdateMetrics() {
  metrics_->Update({.runs = runs_, .padding_rows = padding_rows_, .session = session_.stats()});
}

void DeviceSession::UpdateMetricsNowAndThen() {
  const absl::Time now = absl::Now();
  {
    const absl::MutexLock lock(mutex_);
    if (now - updated_ < kUpdatePeriod) return;
    updated_ = now;
  }
  UpdateMetrics();
}

absl::Status DeviceSession::WarmUp(const std::vector<std::vector<int64_t>>& shapes,
                                   int runs) const {
  std::vector<Tensor> zeros;
  std::vector<NamedView> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    ASSIGN_OR_RETURN(zeros.emplace_back(), Zeros(session_.inputs()[i].dtype, shapes[i]));
    inputs.emplace_back(zeros.back().view());
  }
  if (session_.device() == "cpu") {  // nothing is captured: the Program is enough
    const int64_t built = session_.stats().programs_built;
    RETURN_IF_ERROR(StatusOr(session_.OutputsFor(inputs)).status());
    if (session_.stats().programs_built > built) return absl::OkStatus();
  }
  return StatusOf(session_.WarmUp(inputs, runs));
}

}  // namespace onnx_cudnn::triton
