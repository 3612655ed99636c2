#include "runtime/session/worker_job.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostJobBytes = int64_t{1} << 28;

// Fields that may contain any bytes are hexadecimal, since JSON is UTF-8.
std::string ToHex(std::string_view bytes) { return absl::BytesToHexString(bytes); }

// Returns empty bytes for text that is not hexadecimal; loading the model then reports what is
// missing.
std::string FromHex(const Json& text) {
  std::string bytes;
  if (!absl::HexStringToBytes(text.get<std::string>(), &bytes)) bytes.clear();
  return bytes;
}

Json ToHex(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(ToHex(text));
  return list;
}

std::vector<std::string> ListFromHex(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list) texts.push_back(FromHex(text));
  return texts;
}

Json InputsToJson(const ProgramTable::Key& key) {
  Json inputs = Json::array();
  for (const Dims& dims : key.dims) inputs.push_back({{"dims", dims}});
  for (const auto& [i, bytes] : key.values.bytes) inputs[i]["bytes"] = ToHex(bytes);
  for (const auto& [i, strings] : key.values.strings) {
    Json list = Json::array();
    for (const std::string& s : strings) list.push_back(ToHex(s));
    inputs[i]["strings"] = std::move(list);
  }
  return inputs;
}

Json ToJson(const WorkerJob& job) {
  const SessionOptions& o = job.options;
  return {{"model", ToHex(job.model)},
          {"device_ordinal", o.device_ordinal},
          {"threads", o.threads},
          {"compute_capability", o.compute_capability},
          {"optimization_level", o.optimization_level},
          {"precision", static_cast<int>(o.precision)},
          {"keep_f32", ToHex(o.keep_f32)},
          {"allow_nondeterministic", o.allow_nondeterministic},
          {"disabled_passes", o.disabled_passes},
          {"op_libraries", ToHex(o.op_libraries)},
          {"partitioner", static_cast<int>(o.partitioner)},
          {"pins", ToHex(o.pins)},
          {"map_external_data", o.map_external_data},
          {"follow_hub_links", o.follow_hub_links},
          {"streams", o.streams},
          {"max_memory_bytes", o.max_memory_bytes},
          {"inputs", InputsToJson(job.key)}};
}

ProgramTable::Key KeyOf(const Json& inputs) {
  ProgramTable::Key key;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int place = static_cast<int>(i);
    const Json& input = inputs[i];
    key.dims.push_back(input.at("dims").get<Dims>());
    if (input.contains("bytes")) key.values.bytes[place] = FromHex(input.at("bytes"));
    if (!input.contains("strings")) continue;
    for (const Json& s : input.at("strings")) key.values.strings[place].push_back(FromHex(s));
  }
  return key;
}

WorkerJob Parse(const Json& json) {
  return {
      .model = FromHex(json.at("model")),
      .options = {.device = DeviceChoice::kCuda,
                  .device_ordinal = json.at("device_ordinal").get<int>(),
                  .threads = json.at("threads").get<int>(),
                  .optimization_level = json.at("optimization_level").get<int>(),
                  .precision = static_cast<PrecisionChoice>(json.at("precision").get<uint8_t>()),
                  .keep_f32 = ListFromHex(json.at("keep_f32")),
                  .allow_nondeterministic = json.at("allow_nondeterministic").get<bool>(),
                  .disabled_passes = json.at("disabled_passes").get<std::vector<std::string>>(),
                  .op_libraries = ListFromHex(json.at("op_libraries")),
                  .compute_capability = json.at("compute_capability").get<int>(),
                  .partitioner =
                      static_cast<PartitionerChoice>(json.at("partitioner").get<uint8_t>()),
                  .pins = FromHex(json.at("pins")),
                  .map_external_data = json.at("map_external_data").get<bool>(),
                  .follow_hub_links = json.at("follow_hub_links").get<bool>(),
                  .streams = json.at("streams").get<int>(),
                  .max_memory_bytes = json.at("max_memory_bytes").get<int64_t>()},
      .key = KeyOf(json.at("inputs"))};
}

}  // namespace

absl::Status WriteJob(const WorkerJob& job, const std::string& path) {
  return WriteFile(path, ToJson(job).dump());
}

absl::StatusOr<WorkerJob> ReadJob(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostJobBytes));
  try {
    return Parse(Json::parse(text));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no job of tuning: ", e.what()));
  }
}

}  // namespace onnx_cudnn
