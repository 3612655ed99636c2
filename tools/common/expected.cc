#include "tools/common/expected.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/import/tensor_file.h"
#include "tools/common/files.h"

namespace onnx_cudnn {
namespace {

std::vector<std::string> NamesOf(const std::vector<ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ValueInfo& info : infos) names.push_back(info.name);
  return names;
}

const ValueInfo* FindInfo(const std::string& name, const std::vector<ValueInfo>& infos) {
  const std::vector<std::string> names = NamesOf(infos);
  for (const std::vector<std::string>& known : {names, FileNamesOf(names)}) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found != known.end()) return &infos[found - known.begin()];
  }
  return nullptr;
}

absl::StatusOr<Expected> FromNpz(const std::string& path, const std::vector<ValueInfo>& inputs,
                                 const std::vector<ValueInfo>& outputs) {
  ASSIGN_OR_RETURN(NamedTensors arrays, ReadNpz(path));
  Expected expected;
  for (auto& [name, tensor] : arrays) {
    if (const ValueInfo* output = FindInfo(name, outputs)) {
      expected.outputs[output->name] = std::move(tensor);
    } else if (const ValueInfo* input = FindInfo(name, inputs)) {
      expected.inputs[input->name] = std::move(tensor);
    } else {
      return absl::InvalidArgumentError(
          absl::StrFormat("array \"%s\" is neither an output nor an input of the model", name));
    }
  }
  return expected;
}

absl::Status ReadTensors(const std::filesystem::path& folder, std::string_view prefix,
                         const std::vector<ValueInfo>& infos, NamedTensors& tensors) {
  for (size_t i = 0; i < infos.size(); ++i) {
    const std::filesystem::path file = folder / absl::StrCat(prefix, i, ".pb");
    if (!std::filesystem::exists(file)) return absl::OkStatus();
    ASSIGN_OR_RETURN(tensors[infos[i].name], LoadTensorFile(file.string()));
  }
  return absl::OkStatus();
}

// What --output-dir writes.
absl::Status ReadArrays(const std::filesystem::path& folder, const std::vector<ValueInfo>& infos,
                        NamedTensors& tensors) {
  const std::vector<std::string> files = FileNamesOf(NamesOf(infos));
  for (size_t i = 0; i < infos.size(); ++i) {
    const std::filesystem::path file = folder / absl::StrCat(files[i], ".npy");
    if (!std::filesystem::exists(file)) continue;
    ASSIGN_OR_RETURN(tensors[infos[i].name], ReadNpy(file.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Expected> FromFolder(const std::string& path, const std::vector<ValueInfo>& inputs,
                                    const std::vector<ValueInfo>& outputs) {
  Expected expected;
  RETURN_IF_ERROR(ReadTensors(path, "input_", inputs, expected.inputs));
  RETURN_IF_ERROR(ReadTensors(path, "output_", outputs, expected.outputs));
  if (expected.outputs.empty()) RETURN_IF_ERROR(ReadArrays(path, outputs, expected.outputs));
  return expected;
}

}  // namespace

absl::StatusOr<Expected> ReadExpected(const std::string& path, const std::vector<ValueInfo>& inputs,
                                      const std::vector<ValueInfo>& outputs) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  absl::StatusOr<Expected> expected =
      is_folder ? FromFolder(path, inputs, outputs) : FromNpz(path, inputs, outputs);
  if (expected.ok() && expected->outputs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds no output, expected ",
                     is_folder ? "output_0.pb or NAME.npy" : "an array named as one"));
  }
  return expected;
}

}  // namespace onnx_cudnn
