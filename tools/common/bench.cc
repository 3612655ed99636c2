#include "tools/common/bench.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"
#include "tools/common/plan_flags.h"

namespace onnx_cudnn {
namespace {

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

template <typename T>
absl::StatusOr<T> Take(Result<T> result) {
  if (!result.ok()) return ToStatus(result.error());
  return std::move(result).value();
}

absl::StatusOr<InputRequest> InputsFor(const std::vector<ValueInfo>& infos,
                                       const BenchRequest& request) {
  InputRequest inputs{.shapes = request.shapes};
  for (const ValueInfo& info : infos) {
    const auto named = [&](const NamedText& text) { return text.name == info.name; };
    if (std::any_of(request.shapes.begin(), request.shapes.end(), named)) continue;
    if (!info.ranked || info.dims.empty()) continue;
    if (info.dims[0].value >= 0 && info.dims[0].value != request.batch) {
      return absl::InvalidArgumentError(absl::StrFormat("expected a model that takes batch %d, %s",
                                                        request.batch, ToString(info)));
    }
    std::vector<int64_t> dims = {request.batch};
    for (size_t i = 1; i < info.dims.size(); ++i) {
      dims.push_back(std::max<int64_t>(info.dims[i].value, 1));
    }
    inputs.shapes.push_back({info.name, absl::StrJoin(dims, "x")});
  }
  return inputs;
}

// A Binding over copies in the device's memory.
struct OnDevice {
  std::vector<Tensor> tensors;
  Binding binding;
  int64_t bytes = 0;
};

absl::StatusOr<OnDevice> BindOnDevice(const Session& session, const std::vector<NamedView>& inputs,
                                      const std::vector<Tensor>& outputs) {
  std::vector<Tensor> tensors;
  std::vector<NamedView> in, out;
  int64_t bytes = 0;
  for (const NamedView& input : inputs) {
    ASSIGN_OR_RETURN(tensors.emplace_back(), Take(session.ToDevice(input.view)));
    in.emplace_back(input.name, tensors.back().view());
  }
  for (const Tensor& output : outputs) {
    ASSIGN_OR_RETURN(tensors.emplace_back(), Take(session.ToDevice(output.view())));
    out.emplace_back(tensors.back().view());
  }
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  ASSIGN_OR_RETURN(Binding binding, Take(session.Bind(in, out)));
  return OnDevice{std::move(tensors), std::move(binding), bytes};
}

absl::Status Time(Binding& binding, const BenchRequest& request, BenchRecord& record) {
  double ms = 1e3;
  for (double done = 0; done < request.warm_up_ms; done += ms) {
    ASSIGN_OR_RETURN(const std::vector<double> one, Take(binding.TimeRuns(1)));
    ms = std::max(one[0], 1e-3);
  }
  std::vector<double> alone;
  for (int i = 0; i < request.runs; ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> one, Take(binding.TimeRuns(1)));
    alone.push_back(one[0]);
  }
  const Timing timing = SummarizeTimes(alone);
  record.median_ms = timing.median;
  record.p99_ms = timing.p99;
  const auto runs = static_cast<int>(std::max(1.0, 1e3 * request.seconds / timing.median));
  ASSIGN_OR_RETURN(const std::vector<double> together, Take(binding.TimeRuns(runs)));
  const double all_ms = std::accumulate(together.begin(), together.end(), 0.0);
  record.images_per_s = 1e3 * static_cast<double>(request.batch * runs) / all_ms;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchRecord> Measure(const BenchRequest& request) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(const Session session, Take(Session::Load(request.model, request.session)));
  ASSIGN_OR_RETURN(const InputRequest wanted, InputsFor(session.inputs(), request));
  ASSIGN_OR_RETURN(const std::vector<ModelInput> made, MakeInputs(session.inputs(), wanted));
  std::vector<NamedView> inputs;
  for (const ModelInput& input : made) inputs.emplace_back(input.name, ViewOf(input.tensor));
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Take(session.Run(inputs)));
  const DeviceFacts facts = session.device_facts();
  BenchRecord record{.model = std::filesystem::path(request.model).stem().string(),
                     .precision = std::string(NameOf(session.precision())),
                     .batch = request.batch,
                     .setup_s = SecondsSince(start),
                     .context_s = session.stats().device_ms / 1e3,
                     .device = facts.product,
                     .driver = facts.driver,
                     .cuda = facts.cuda,
                     .cudnn = facts.cudnn};
  ASSIGN_OR_RETURN(OnDevice bound, BindOnDevice(session, inputs, outputs));
  RETURN_IF_ERROR(Time(bound.binding, request, record));
  const SessionStats stats = session.stats();
  record.tune_s = stats.tune_ms / 1e3;
  record.tuned_signatures = stats.tuned_signatures;
  record.cached_signatures = stats.cached_signatures;
  record.peak_bytes = stats.weight_bytes + stats.arena_bytes + bound.bytes;
  return record;
}

std::string RecordsJson(const std::vector<BenchRecord>& records) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const BenchRecord& r : records) {
    list.push_back({{"who", r.who},
                    {"model", r.model},
                    {"precision", r.precision},
                    {"batch", r.batch},
                    {"median_ms", r.median_ms},
                    {"p99_ms", r.p99_ms},
                    {"images_per_s", r.images_per_s},
                    {"setup_s", r.setup_s},
                    {"context_s", r.context_s},
                    {"tune_s", r.tune_s},
                    {"tuned_signatures", r.tuned_signatures},
                    {"cached_signatures", r.cached_signatures},
                    {"peak_bytes", r.peak_bytes},
                    {"device", r.device},
                    {"driver", r.driver},
                    {"cuda", r.cuda},
                    {"cudnn", r.cudnn},
                    {"commit", r.commit},
                    {"date", r.date},
                    {"run", r.run}});
  }
  return list.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string RecordText(const BenchRecord& r) {
  return absl::StrFormat(
      "%s %s batch %d on %s: median %.4f ms, p99 %.4f ms, %.0f a second back to back; set-up %.3f "
      "s (context %.3f s, tuning %d signatures %.1f s), %d bytes\n",
      r.model, r.precision, r.batch, r.device, r.median_ms, r.p99_ms, r.images_per_s, r.setup_s,
      r.context_s, r.tuned_signatures, r.tune_s, r.peak_bytes);
}

}  // namespace onnx_cudnn
