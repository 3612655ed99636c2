#include "tools/common/report_page.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "onnx_cudnn/version.h"
#include "runtime/base/status.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

Json VersionsJson(const BuildFacts& facts) {
  Json json;
  ADD_JSON_FIELDS(json, facts, version, commit, compiler, cuda, cuda_architectures, onnx,
                  cudnn_frontend);
  return json;
}

}  // namespace

absl::Status CheckReportPage() {
  if (!kReportHead.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      "--report: this build has no page, because its JavaScript library could not be downloaded "
      "when it was configured; configure it again where pip can download");
}

Json RunFactsJson(const DeviceFacts& device, std::string_view flags) {
  return {{"device", device.product}, {"driver", device.driver},     {"CUDA", device.cuda},
          {"cuDNN", device.cudnn},    {"cuBLASLt", device.cublaslt}, {"flags", flags}};
}

absl::StatusOr<std::string> ReportPage(Json data) {
  RETURN_IF_ERROR(CheckReportPage());
  data["versions"] = VersionsJson(Version());
  // No name of a model ends the script element that holds the data, or opens a comment in it.
  const std::string text = absl::StrReplaceAll(JsonText(data, /*indent=*/-1), {{"<", "\\u003c"}});
  return absl::StrCat(kReportHead, text, kReportTail);
}

absl::StatusOr<std::string> ExplainPage(const std::string& model, const std::string& json,
                                        std::string_view flags) {
  Json explained = Json::parse(json), programs = Json::array();
  const auto page = [&] {
    return ReportPage({{"model", model},
                       {"programs", std::move(programs)},
                       {"run", RunFactsJson(/*device=*/{}, flags)}});
  };
  if (!explained.contains("segments")) {
    programs.push_back(std::move(explained));
    return page();
  }
  for (Json& segment : explained["segments"]) {
    if (segment["program"].is_null()) continue;
    Json& program = programs.emplace_back(std::move(segment["program"]));
    program["cut"] = segment["reasons"];
  }
  return page();
}

}  // namespace onnx_cudnn
