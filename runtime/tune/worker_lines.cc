#include "runtime/tune/worker_lines.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;
using Kind = WorkerLine::Kind;

std::string TextAt(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

int64_t NumberOf(const Json& json) {
  return json.is_number_integer() ? json.get<int64_t>() : int64_t{0};
}

FailedVariant VariantIn(const Json& json) {
  return {.device = TextAt(json, "device"),
          .signature = TextAt(json, "signature"),
          .engine = TextAt(json, "engine"),
          .variant = TextAt(json, "variant"),
          .engine_version = TextAt(json, "version")};
}

// A signature may contain any bytes; invalid UTF-8 is replaced.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

WorkerLine ParseWorkerLine(std::string_view line) {
  const Json json = Json::parse(line, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.empty()) return {};
  const std::string& what = json.begin().key();
  const Json& value = json.begin().value();
  if (what == "trying" && value.is_number_integer()) {
    return {.kind = Kind::kTrying, .id = NumberOf(value), .variant = VariantIn(json)};
  }
  if (what == "tried" && value.is_number_integer()) {
    return {.kind = Kind::kTried, .id = NumberOf(value)};
  }
  if (what == "progress" && value.is_array() && value.size() == 2) {
    return {.kind = Kind::kProgress, .done = NumberOf(value[0]), .total = NumberOf(value[1])};
  }
  if (what == "note" && value.is_string()) {
    return {.kind = Kind::kNote, .text = value.get<std::string>()};
  }
  if (what == "done") return {.kind = Kind::kDone};
  if (what == "error" && value.is_string()) {
    return {.kind = Kind::kError, .text = value.get<std::string>()};
  }
  return {};
}

TuneObserver WorkerLines::Observer() {
  return {.trying =
              [this](int64_t id, const FailedVariant& what) {
                Write(Dump(Json{{"trying", id},
                                {"device", what.device},
                                {"signature", what.signature},
                                {"engine", what.engine},
                                {"variant", what.variant},
                                {"version", what.engine_version}}));
              },
          .tried = [this](int64_t id) { Write(absl::StrFormat(R"({"tried": %d})", id)); },
          .progress =
              [this](int64_t done, int64_t total) {
                Write(absl::StrFormat(R"({"progress": [%d, %d]})", done, total));
              }};
}

void WorkerLines::Done(const TunerStats& stats) {
  for (const std::string& note : stats.notes) Write(Dump(Json{{"note", note}}));
  Write(R"({"done": true})");
}

void WorkerLines::Error(std::string_view message) { Write(Dump(Json{{"error", message}})); }

void WorkerLines::Write(std::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  absl::MutexLock lock(mutex_);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd_.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += static_cast<size_t>(n);
  }
}

}  // namespace onnx_cudnn
