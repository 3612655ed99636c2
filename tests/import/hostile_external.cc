#include "tests/import/hostile_external.h"

#include <filesystem>
#include <utility>

namespace onnx_cudnn {

std::string SaveExternal(const TempFolder& folder, const std::vector<Entry>& entries, int dtype) {
  std::filesystem::create_directory(folder.path("m"));
  folder.Write("secret", std::string(16, 's'));
  folder.Write("m/data", std::string(16, '\0'));
  onnx::ModelProto model = EmptyModel();
  SetExternal(AddInitializer(*model.mutable_graph(), "w", dtype, {4}), entries);
  AddOutput(*model.mutable_graph(), "w");
  return folder.Write("m/model.onnx", model.SerializeAsString());
}

MakeFile Entries(std::vector<Entry> entries) {
  return [entries = std::move(entries)](const TempFolder& folder) {
    return SaveExternal(folder, entries);
  };
}

MakeFile Location(std::string location) { return Entries({{"location", std::move(location)}}); }

MakeFile At(std::string location, std::function<void(const TempFolder&)> make) {
  return [location = std::move(location), make = std::move(make)](const TempFolder& folder) {
    std::string path = SaveExternal(folder, {{"location", location}});
    make(folder);
    return path;
  };
}

}  // namespace onnx_cudnn
