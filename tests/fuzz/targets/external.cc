#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/log/check.h"
#include "absl/strings/str_split.h"
#include "runtime/import/onnx_loader.h"
#include "tests/fuzz/targets.h"
#include "tests/support/model_builder.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr absl::StatusCode kPromised[] = {
    absl::StatusCode::kInvalidArgument, absl::StatusCode::kUnimplemented,
    absl::StatusCode::kNotFound, absl::StatusCode::kResourceExhausted};
constexpr size_t kMostEntries = 16;

// A model's folder, with files in it and beside it that the model must not read.
class ModelFolder {
 public:
  ModelFolder() {
    std::filesystem::create_directories(folder_.path("m/sub"));
    folder_.Write("secret", "not for the model");
    std::filesystem::create_symlink("../secret", folder_.path("m/link"));
    std::filesystem::create_hard_link(folder_.path("secret"), folder_.path("m/second"));
  }
  const TempFolder* operator->() const { return &folder_; }

 private:
  TempFolder folder_;
};

std::vector<Entry> EntriesOf(std::string_view text) {
  std::vector<Entry> entries;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    if (entries.size() == kMostEntries) break;
    const std::pair<std::string, std::string> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
    entries.push_back({pair.first, pair.second});
  }
  return entries;
}

// Two constants of `elements` bytes each; each part of `text` holds the external-data entries of
// one.
std::string ModelOf(std::string_view text, int64_t elements) {
  onnx::ModelProto model = EmptyModel();
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits("\n--\n", 1));
  for (const auto& [name, entries] : {std::pair("a", parts.first), std::pair("b", parts.second)}) {
    onnx::TensorProto& tensor =
        AddInitializer(*model.mutable_graph(), name, onnx::TensorProto::UINT8, {elements});
    SetExternal(tensor, EntriesOf(entries));
    AddOutput(*model.mutable_graph(), name);
  }
  return model.SerializeAsString();
}

}  // namespace

void FuzzExternalData(std::string_view bytes) {
  static const ModelFolder folder;
  if (bytes.size() < 2) return;
  const LoadOptions options{
      .external_bytes = bytes[0] & 1 ? ExternalBytes::kMap : ExternalBytes::kRead,
      .follow_hub_links = (bytes[0] & 2) != 0};
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(bytes.substr(2), absl::MaxSplits("\n\n", 1));
  const std::string_view content = parts.second;
  folder->Write("m/data", content);
  folder->Write("m/sub/data", content);
  const std::string model =
      folder->Write("m/model.onnx", ModelOf(parts.first, static_cast<uint8_t>(bytes[1]) % 32));
  const absl::StatusOr<Graph> graph = LoadModel(model, options);
  if (!graph.ok()) {
    CHECK(std::find(std::begin(kPromised), std::end(kPromised), graph.status().code()) !=
          std::end(kPromised))
        << graph.status();
    return;
  }
  for (const GraphOutput& output : graph->outputs()) {
    const auto data = output.value->constant().data<uint8_t>();
    const std::string_view read(reinterpret_cast<const char*>(data.data()), data.size());
    CHECK(content.find(read) != content.npos) << "bytes that are not in the model's data";
  }
}

}  // namespace onnx_cudnn
