// --report: what --explain and --profile found as one HTML file, which needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

inline constexpr std::string_view kReportHelp =
    "A file for all of it as one HTML page, which any browser opens without a network: the graph "
    "with its partitions, timeline, roofline, memory, the cost of layout changes.";

// The page of tools/report up to its data, and what follows them. Empty: this build has none.
extern const std::string_view kReportHead, kReportTail;

// Unimplemented: this build has no page.
absl::Status CheckReportPage();

// What a run ran with, for "run" of a page: the GPU and its software, if any, and the command line.
nlohmann::ordered_json RunFactsJson(const DeviceFacts& device, std::string_view flags);

// The page with `data`: {"model", "programs": [objects of ExplainJson, or those of its segments],
// "profile": ProfileJson, "run": RunFactsJson, …}; adds "versions".
absl::StatusOr<std::string> ReportPage(nlohmann::ordered_json data);

// The page of a model's explanation.
//   json   ExplainJson, of one Program or of segments
//   flags  the command line
absl::StatusOr<std::string> ExplainPage(const std::string& model, const std::string& json,
                                        std::string_view flags);

}  // namespace onnx_cudnn
