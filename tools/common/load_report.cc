#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/json_text.h"
#include "tools/common/offered_load.h"

namespace onnx_cudnn {

std::string LoadsJson(const std::vector<LoadRecord>& records) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const LoadRecord& r : records) {
    Json json;
    ADD_JSON_FIELDS(json, r.bench, who, model, precision, batch, threads);
    ADD_JSON_FIELDS(json, r, max_batch, max_delay_ms, offered_qps, arrived_qps, achieved_qps);
    json["keeps_up"] = r.KeepsUp();
    ADD_JSON_FIELDS(json, r, requests, refused, failed, mean_batch, mean_ms, p50_ms, p90_ms, p95_ms,
                    p99_ms, max_ms);
    ADD_JSON_FIELDS(json, r.bench, device, driver, cuda, cudnn, commit, date, run);
    list.push_back(std::move(json));
  }
  return JsonText(list, 1);
}

std::string LoadTableHeader(const LoadRecord& first) {
  return absl::StrFormat("%s, %s, requests of %d rows, %s\n%10s %10s %9s %8s %8s %8s %8s %8s\n",
                         first.bench.model, first.bench.precision, first.bench.batch,
                         first.max_batch == 0 ? absl::StrCat(first.bench.threads, " threads")
                                              : absl::StrCat("batches of up to ", first.max_batch),
                         "offered/s", "served/s", "rows/run", "p50 ms", "p90 ms", "p99 ms",
                         "max ms", "refused");
}

std::string LoadTableRow(const LoadRecord& r) {
  return absl::StrFormat("%10.1f %10.1f %9.2f %8.3f %8.3f %8.3f %8.3f %8d%s\n", r.offered_qps,
                         r.achieved_qps, r.mean_batch, r.p50_ms, r.p90_ms, r.p99_ms, r.max_ms,
                         r.refused, r.KeepsUp() ? "" : "  does not keep up");
}

}  // namespace onnx_cudnn
