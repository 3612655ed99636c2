#include "runtime/triton/model_config.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/triton/data_types.h"

namespace onnx_cudnn::triton {
namespace {

const Json& ListIn(const Json& config, const char* name) {
  static const Json& none = *new Json(Json::array());
  const auto found = config.find(name);
  return found == config.end() ? none : *found;
}

int64_t MaxBatchOf(const Json& config) { return config.value("max_batch_size", int64_t{0}); }

std::vector<int64_t> DimsIn(const Json& tensor) {
  std::vector<int64_t> dims;
  for (const Json& dim : ListIn(tensor, "dims")) {
    dims.push_back(dim.is_string() ? std::stoll(dim.get<std::string>()) : dim.get<int64_t>());
  }
  return dims;
}

// The dims that the backend sees, without the batch.
std::vector<int64_t> OwnDimsIn(const Json& tensor) {
  const auto reshape = tensor.find("reshape");
  if (reshape == tensor.end() || reshape->is_null()) return DimsIn(tensor);
  return DimsIn({{"dims", ListIn(*reshape, "shape")}});
}

absl::Status CheckTensor(std::string_view what, const ValueInfo& info) {
  if (info.kind != ValueKind::kTensor) {
    return absl::UnimplementedError(absl::StrCat(
        what, " ", ToString(info), " is no tensor, and Triton has tensors alone: leave it out of ",
        "the model (zipmap=False of skl2onnx)"));
  }
  if (ConfigNameOf(info.dtype).empty()) {
    return absl::UnimplementedError(
        absl::StrCat(what, " ", ToString(info), ": Triton has no such type"));
  }
  return absl::OkStatus();
}

// The entry of an input or output.
absl::StatusOr<Json> Completed(std::string_view what, const ValueInfo& info, bool is_batched) {
  RETURN_IF_ERROR(CheckTensor(what, info));
  if (!info.ranked) {
    return absl::UnimplementedError(
        absl::StrCat(what, " ", ToString(info),
                     " has dims of any number: list inputs and outputs in config.pbtxt"));
  }
  std::vector<int64_t> dims;
  for (size_t i = is_batched ? 1 : 0; i < info.dims.size(); ++i) {
    dims.push_back(info.dims[i].value < 0 ? -1 : info.dims[i].value);
  }
  Json entry = {{"name", info.name}, {"data_type", ConfigNameOf(info.dtype)}, {"dims", dims}};
  if (dims.empty()) {  // clients give one dim, since a configuration has at least one
    entry["dims"] = {1};
    if (is_batched) entry["reshape"] = {{"shape", Json::array()}};  // others may have no such one
  }
  return entry;
}

std::string TextOf(const std::vector<int64_t>& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

absl::Status CheckEntry(std::string_view what, const Json& entry, const ValueInfo& info,
                        bool is_batched) {
  RETURN_IF_ERROR(CheckTensor(what, info));
  const std::string name = absl::StrCat(what, " \"", info.name, "\"");
  const auto type = entry.value("data_type", std::string());
  if (type != ConfigNameOf(info.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has data_type ", type,
                                                   " in the configuration, the model has ",
                                                   ConfigNameOf(info.dtype)));
  }
  if (entry.value("allow_ragged_batch", false)) {
    return absl::UnimplementedError(absl::StrCat(name, ": allow_ragged_batch is not supported"));
  }
  if (!info.ranked) return absl::OkStatus();
  const std::vector<int64_t> dims = OwnDimsIn(entry);
  if (info.dims.empty() && dims == kScalarDims) return absl::OkStatus();
  const size_t first = is_batched ? 1 : 0;
  bool fits = dims.size() + first == info.dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const int64_t own = info.dims[i + first].value;
    fits = own < 0 || dims[i] < 0 || own == dims[i];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has dims ", TextOf(dims), is_batched ? " behind the batch" : "",
                   " in the configuration, the model has ", ToString(info)));
}

const ValueInfo* Find(const std::vector<ValueInfo>& infos, const std::string& name) {
  const auto found = std::find_if(infos.begin(), infos.end(),
                                  [&](const ValueInfo& info) { return info.name == name; });
  return found == infos.end() ? nullptr : &*found;
}

absl::Status CheckEntries(const Json& config, const char* what,
                          const std::vector<ValueInfo>& infos) {
  for (const Json& entry : ListIn(config, what)) {
    const auto name = entry.value("name", std::string());
    const ValueInfo* info = Find(infos, name);
    if (info == nullptr) {
      const auto text = [](std::string* out, const ValueInfo& i) {
        absl::StrAppend(out, ToString(i));
      };
      return absl::InvalidArgumentError(
          absl::StrCat("config.pbtxt has an ", what, " \"", name, "\" that the model lacks; ",
                       "the model's: ", absl::StrJoin(infos, ", ", text)));
    }
    RETURN_IF_ERROR(CheckEntry(what, entry, *info, MaxBatchOf(config) > 0));
  }
  return absl::OkStatus();
}

// Whether a request has this input: of its own, or one that the sequence batcher adds.
bool HasInput(const Json& config, const std::string& name) {
  const auto is_it = [&](const Json& entry) { return entry.value("name", std::string()) == name; };
  const Json& inputs = ListIn(config, "input");
  if (std::any_of(inputs.begin(), inputs.end(), is_it)) return true;
  const auto sequences = config.find("sequence_batching");
  if (sequences == config.end()) return false;
  const Json& controls = ListIn(*sequences, "control_input");
  return std::any_of(controls.begin(), controls.end(), is_it);
}

absl::Status CheckFeatures(const Json& config) {
  const auto policy = config.find("model_transaction_policy");
  if (policy != config.end() && policy->value("decoupled", false)) {
    return absl::UnimplementedError(
        "decoupled responses are not supported: each request has one response");
  }
  const auto sequences = config.find("sequence_batching");
  if (sequences != config.end() && !ListIn(*sequences, "state").empty()) {
    return absl::UnimplementedError("states of sequence_batching are not supported");
  }
  for (const char* ragged : {"batch_input", "batch_output"}) {
    if (!ListIn(config, ragged).empty()) {
      return absl::UnimplementedError(absl::StrCat(ragged, " is not supported"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int InstancesOn(const std::vector<InstanceGroup>& groups, const std::string& kind, int gpu) {
  int count = 0;
  for (const InstanceGroup& group : groups) {
    if (group.kind != kind) continue;
    const auto on_it = std::count(group.gpus.begin(), group.gpus.end(), gpu);
    count += group.count * (kind == "KIND_GPU" ? static_cast<int>(on_it) : 1);
  }
  return std::max(count, 1);
}

absl::StatusOr<ModelConfig> ReadConfig(const Json& config) {
  ModelConfig read;
  read.file = config.value("default_model_filename", std::string());
  if (read.file.empty()) read.file = "model.onnx";
  read.max_batch = MaxBatchOf(config);
  const Json parameters = config.value("parameters", Json::object());
  for (const auto& [name, value] : parameters.items()) {
    read.parameters[name] = value.value("string_value", std::string());
  }
  for (const Json& group : ListIn(config, "instance_group")) {
    read.groups.push_back({.kind = group.value("kind", std::string()),
                           .gpus = group.value("gpus", std::vector<int>()),
                           .count = group.value("count", 1)});
  }
  if (read.groups.empty()) read.groups.push_back({.kind = "KIND_CPU"});
  return read;
}

bool HasBatchAxis(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs) {
  if (inputs.empty() || inputs[0].dims.empty()) return false;
  const std::string& symbol = inputs[0].dims[0].symbol;
  const auto has = [&](const ValueInfo& info) {
    return info.kind == ValueKind::kTensor && info.ranked && !info.dims.empty() &&
           info.dims[0].value < 0 && !symbol.empty() && info.dims[0].symbol == symbol;
  };
  return std::all_of(inputs.begin(), inputs.end(), has) &&
         std::all_of(outputs.begin(), outputs.end(), has);
}

absl::Status CompleteConfig(const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs, int64_t default_max_batch,
                            Json& config) {
  const bool is_empty = ListIn(config, "input").empty() && ListIn(config, "output").empty();
  if (is_empty && MaxBatchOf(config) == 0 && HasBatchAxis(inputs, outputs)) {
    config["max_batch_size"] = default_max_batch;
  }
  const bool is_batched = MaxBatchOf(config) > 0;
  if (is_batched && !HasBatchAxis(inputs, outputs)) return absl::OkStatus();  // CheckConfig says so
  const auto complete = [&](const char* what, const std::vector<ValueInfo>& infos) -> absl::Status {
    if (!ListIn(config, what).empty()) return absl::OkStatus();
    Json entries = Json::array();
    for (const ValueInfo& info : infos) {
      ASSIGN_OR_RETURN(entries.emplace_back(), Completed(what, info, is_batched));
    }
    config[what] = std::move(entries);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(complete("input", inputs));
  RETURN_IF_ERROR(complete("output", outputs));
  const bool has_scheduling = config.contains("dynamic_batching") ||
                              config.contains("sequence_batching") ||
                              config.contains("ensemble_scheduling");
  if (is_empty && MaxBatchOf(config) > 1 && !has_scheduling) {
    config["dynamic_batching"] = Json::object();
  }
  return absl::OkStatus();
}

absl::Status CheckConfig(const Json& config, const std::vector<ValueInfo>& inputs,
                         const std::vector<ValueInfo>& outputs) {
  RETURN_IF_ERROR(CheckFeatures(config));
  // A Run computes those that the configuration leaves out, too.
  for (const ValueInfo& info : inputs) RETURN_IF_ERROR(CheckTensor("input", info));
  for (const ValueInfo& info : outputs) RETURN_IF_ERROR(CheckTensor("output", info));
  if (MaxBatchOf(config) > 0 && !HasBatchAxis(inputs, outputs)) {
    std::vector<std::string> texts;
    for (const ValueInfo& info : inputs) texts.push_back(ToString(info));
    for (const ValueInfo& info : outputs) texts.push_back(ToString(info));
    return absl::InvalidArgumentError(absl::StrCat(
        "max_batch_size is ", MaxBatchOf(config), ", but the model has no batch axis (the first ",
        "dim of every input and output must be one symbol): ", absl::StrJoin(texts, ", ")));
  }
  RETURN_IF_ERROR(CheckEntries(config, "input", inputs));
  for (const ValueInfo& info : inputs) {
    if (HasInput(config, info.name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the configuration lacks input ", ToString(info)));
  }
  return CheckEntries(config, "output", outputs);
}

absl::StatusOr<std::vector<std::vector<int64_t>>> InputShapes(const Json& config,
                                                              const std::vector<ValueInfo>& inputs,
                                                              int64_t rows) {
  std::vector<std::vector<int64_t>> shapes;
  for (const ValueInfo& info : inputs) {
    std::vector<int64_t> own;
    for (const ValueInfo::Extent& dim : info.dims) own.push_back(dim.value);
    for (const Json& entry : ListIn(config, "input")) {
      if (entry.value("name", std::string()) != info.name) continue;
      std::vector<int64_t> given = OwnDimsIn(entry);
      if (rows > 0) given.insert(given.begin(), rows);
      if (!info.ranked) own.assign(given.size(), -1);
      for (size_t i = 0; i < own.size() && i < given.size(); ++i) {
        if (own[i] < 0) own[i] = given[i];
      }
    }
    const bool is_known = std::all_of(own.begin(), own.end(), [](int64_t d) { return d >= 0; });
    if (!is_known) {
      return absl::FailedPreconditionError(absl::StrCat(
          "input ", ToString(info), " has dims that nothing gives: warm up by model_warmup, or ",
          "give them in the configuration"));
    }
    shapes.push_back(std::move(own));
  }
  return shapes;
}

}  // namespace onnx_cudnn::triton
