#include "tests/support/hostile.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace onnx_cudnn {
namespace {

// A field of /proc/self/status, in KiB.
int64_t ProcessKib(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!absl::StartsWith(line, field)) continue;
    for (std::string_view part : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      int64_t value = 0;
      if (absl::SimpleAtoi(part, &value)) return value;
    }
  }
  return 0;
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

int64_t FolderBytes(const TempFolder& folder) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file() && !entry.is_symlink())
      bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

void ExpectReadable(std::string_view message) {
  EXPECT_LT(message.size(), 1000u) << message;
  EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](unsigned char c) {
    return c >= 0x20;
  })) << message;
}

}  // namespace

int64_t PeakBytesOf(absl::FunctionRef<void()> work) {
  ResetPeak();
  const int64_t before_kib = ProcessKib("VmRSS");
  work();
  return (ProcessKib("VmHWM") - before_kib) * 1024;
}

namespace {

absl::Status LoadWithinBounds(const std::string& path, const HostileCase& c, int64_t file_bytes) {
  absl::Status status;
  const auto start = std::chrono::steady_clock::now();
  const int64_t peak_bytes = PeakBytesOf([&] { status = LoadModel(path, c.options).status(); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), kSanitized ? 5.0 : 1.0);
  if (!kSanitized) {
    EXPECT_LE(peak_bytes, file_bytes + (int64_t{64} << 20));
  }
  return status;
}

}  // namespace

std::string Save(const TempFolder& folder, const onnx::ModelProto& model) {
  return folder.Write("model.onnx", model.SerializeAsString());
}

std::function<std::string(const TempFolder&)> Bytes(std::string bytes) {
  return [bytes = std::move(bytes)](const TempFolder& folder) {
    return folder.Write("model.onnx", bytes);
  };
}

std::function<std::string(const TempFolder&)> Model(std::function<void(onnx::ModelProto&)> change) {
  return [change = std::move(change)](const TempFolder& folder) {
    onnx::ModelProto model = ReluModel();
    change(model);
    return Save(folder, model);
  };
}

std::function<std::string(const TempFolder&)> EmptyGraph(
    std::function<void(onnx::GraphProto&)> fill) {
  return [fill = std::move(fill)](const TempFolder& folder) {
    onnx::ModelProto model = EmptyModel();
    fill(*model.mutable_graph());
    return Save(folder, model);
  };
}

std::function<std::string(const TempFolder&)> BothBranches(
    std::function<void(onnx::GraphProto&)> fill) {
  return EmptyGraph([fill = std::move(fill)](onnx::GraphProto& g) {
    AddInput(g, "c", {}, onnx::TensorProto::BOOL);
    onnx::NodeProto& node = AddNode(g, "If", {"c"}, {"y"});
    for (const char* branch : {"then_branch", "else_branch"}) fill(SetGraph(node, branch));
    AddOutput(g, "y");
  });
}

void RunHostile(const HostileCase& c) {
  TempFolder folder;
  const std::string path = c.make(folder);
  const int64_t file_bytes = FolderBytes(folder);
  const absl::Status first = LoadWithinBounds(path, c, file_bytes);
  const absl::Status second = LoadWithinBounds(path, c, file_bytes);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.code(), c.code) << first;
  EXPECT_TRUE(absl::StrContains(first.message(), c.fragment))
      << first << "\nexpected: " << c.fragment;
  ExpectReadable(first.message());
}

}  // namespace onnx_cudnn
