#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace onnx_cudnn {

// A new folder that is removed, with its content, by the destructor.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(std::string_view name) const { return (path_ / name).string(); }
  // Writes `bytes` and returns the path.
  std::string Write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace onnx_cudnn
