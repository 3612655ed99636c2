#include "runtime/base/own_folder.h"

#include <dlfcn.h>

#include <filesystem>

namespace onnx_cudnn {
namespace {

std::string FolderOf(const std::filesystem::path& link) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(link, error);
  return error ? "" : file.parent_path().string();
}

}  // namespace

std::string ProgramFolder() { return FolderOf("/proc/self/exe"); }

std::string LibraryFolder() {
  Dl_info info;
  const bool known = dladdr(reinterpret_cast<const void*>(&LibraryFolder), &info) != 0;  // NOLINT
  // The name of the program is its argv[0], which may be relative to a folder that is left since.
  if (!known || info.dli_fname == nullptr || info.dli_fname[0] != '/') return ProgramFolder();
  return FolderOf(info.dli_fname);
}

}  // namespace onnx_cudnn
