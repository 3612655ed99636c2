#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/forked.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/session/binding_impl.h"
#include "runtime/session/check_finite.h"
#include "runtime/session/edge.h"
#include "runtime/session/run_model.h"

namespace onnx_cudnn {

absl::Status CheckRunOptions(const LoadedModel& model, const RunOptions& options) {
  if (options.stream != nullptr && model.device().ref() == DeviceRef{}) {
    return absl::InvalidArgumentError(
        "run option stream: the CPU device has no streams, expected null");
  }
  if (options.stream != nullptr && model.checks_finite()) {
    return absl::InvalidArgumentError(
        "run option stream: option check_finite reads the outputs when a run has ended, expected "
        "null");
  }
  return CheckCancelled();
}

absl::Status Binding::Impl::CheckValues(void* callers_stream) const {
  for (const auto& [i, bytes] : values.bytes) {
    ASSIGN_OR_RETURN(const std::string now, model->reader().BytesIn(views[i], callers_stream));
    if (now == bytes) continue;
    return Changed(i, "its values decide shapes or branches and");
  }
  for (const auto& [i, strings] : values.strings) {
    const auto* now = static_cast<const std::string*>(inputs[i]);
    if (!std::equal(strings.begin(), strings.end(), now)) return Changed(i, "its strings");
  }
  return absl::OkStatus();
}

absl::Status Binding::Impl::Changed(int input, std::string_view what) const {
  return absl::FailedPreconditionError(
      absl::StrFormat("input \"%s\": %s are others than when it was bound: bind again",
                      model->inputs()[input].name, what));
}

absl::StatusOr<std::vector<double>> Binding::Impl::TimeParts(int runs) const {
  constexpr int kWarmUp = 2;
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + runs; ++i) {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(RunPartsInto(*model, views, output_views, {}));
    if (i >= kWarmUp) times.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
  }
  return times;
}

Binding::Binding(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Binding::Binding(Binding&&) noexcept = default;
Binding& Binding::operator=(Binding&& other) noexcept {
  Binding last(std::move(other));
  std::swap(impl_, last.impl_);
  return *this;
}
Binding::~Binding() { AbandonIfForked(impl_); }

Result<void> Binding::Run(const RunOptions& options) {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(impl_, "Binding"));
    const CallScope scope(*impl_->model, options.cancel);
    RETURN_IF_ERROR(CheckRunOptions(*impl_->model, options));
    RETURN_IF_ERROR(impl_->model->device().device().MakeCurrent());
    if (impl_->executor == nullptr) {
      RETURN_IF_ERROR(RunPartsInto(*impl_->model, impl_->views, impl_->output_views, options));
      return CheckFinite(*impl_->model, impl_->output_views);
    }
    RETURN_IF_ERROR(impl_->CheckValues(options.stream));
    RETURN_IF_ERROR(
        impl_->executor->Run(impl_->inputs, impl_->outputs, options.stream, options.cancel));
    return CheckFinite(*impl_->model, impl_->output_views);
  });
}

Result<std::vector<double>> Binding::TimeRuns(int runs) {
  return AtEdge<std::vector<double>>([&]() -> absl::StatusOr<std::vector<double>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(impl_, "Binding"));
    if (runs < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("TimeRuns: expected 0 runs or more, found ", runs));
    }
    const CallScope scope(*impl_->model);
    RETURN_IF_ERROR(impl_->model->device().device().MakeCurrent());
    if (impl_->executor == nullptr) return impl_->TimeParts(runs);
    RETURN_IF_ERROR(impl_->CheckValues(/*callers_stream=*/nullptr));
    return impl_->executor->Time(impl_->inputs, impl_->outputs, runs);
  });
}

std::string_view Binding::graph_note() const {
  if (impl_ == nullptr) return {};
  if (impl_->is_padded) return "its shapes are padded to buckets, which copies inputs and outputs";
  if (impl_->executor == nullptr) return "it runs as several programs";
  return impl_->executor->capture_note();
}

}  // namespace onnx_cudnn
