#include "tools/common/bench_compare.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostFileBytes = int64_t{1} << 28;

// Reads the field `name` if `is` accepts its type; otherwise returns false.
template <typename T>
bool Take(const Json& json, const char* name, bool (Json::*is)() const noexcept, T& to) {
  const auto it = json.find(name);
  if (it == json.end() || !((*it).*is)()) return false;
  to = it->template get<T>();
  return true;
}

// The name of the first field that is missing or wrong; nullptr: none.
const char* FirstWrong(const Json& json, BenchRecord& record) {
  const auto has_text = [&](const char* name, std::string& to) {
    return Take(json, name, &Json::is_string, to);
  };
  if (!json.is_object() || !has_text("who", record.who)) return "who";
  if (!has_text("model", record.model)) return "model";
  if (!has_text("precision", record.precision)) return "precision";
  const bool counts = Take(json, "batch", &Json::is_number_integer, record.batch);
  if (!counts || record.batch < 1) return "batch";
  const bool timed = Take(json, "median_ms", &Json::is_number, record.median_ms);
  if (!timed || !std::isfinite(record.median_ms) || record.median_ms <= 0) return "median_ms";
  has_text("commit", record.commit);
  return nullptr;
}

bool IsSameConfiguration(const BenchRecord& a, const BenchRecord& b) {
  return a.model == b.model && a.precision == b.precision && a.batch == b.batch;
}

}  // namespace

absl::StatusOr<std::vector<BenchRecord>> RecordsFromJson(std::string_view text) {
  const Json list = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (list.is_discarded()) return absl::InvalidArgumentError("not JSON");
  if (!list.is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a list of bench records, found a JSON ", list.type_name()));
  }
  std::vector<BenchRecord> records;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_object() && list[i].contains("error")) continue;
    const char* wrong = FirstWrong(list[i], records.emplace_back());
    if (wrong == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected bench records {who, model, precision, batch, median_ms}: \"%s\" is missing or "
        "wrong in record %d",
        wrong, i));
  }
  return records;
}

absl::StatusOr<std::vector<BenchRecord>> ReadRecords(const std::vector<std::string>& paths) {
  std::vector<BenchRecord> all;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostFileBytes));
    absl::StatusOr<std::vector<BenchRecord>> records = RecordsFromJson(text);
    if (!records.ok()) return Annotate(records.status(), path);
    all.insert(all.end(), records->begin(), records->end());
  }
  return all;
}

absl::StatusOr<std::vector<Comparison>> CompareRecords(const std::vector<BenchRecord>& ours,
                                                       const std::vector<BenchRecord>& theirs) {
  std::vector<Comparison> pairs;
  for (const BenchRecord& our : ours) {
    for (const BenchRecord& their : theirs) {
      if (IsSameConfiguration(our, their)) pairs.push_back({our, their});
    }
  }
  if (pairs.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "nothing to compare: no model, precision and batch of the %d records measured is among the "
        "%d of --compare",
        ours.size(), theirs.size()));
  }
  return pairs;
}

std::string ComparisonText(const Comparison& c) {
  return absl::StrFormat("%s %s batch %d: %s%s %.4f ms, ours %.4f ms, ratio %.3f\n", c.ours.model,
                         c.ours.precision, c.ours.batch, c.theirs.who,
                         c.theirs.commit.empty() ? "" : absl::StrCat(" (", c.theirs.commit, ")"),
                         c.theirs.median_ms, c.ours.median_ms, c.ratio());
}

}  // namespace onnx_cudnn
