#include "runtime/cuda/find_library.h"

#include <cstdlib>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "runtime/base/own_folder.h"
#include "runtime/cuda/library_calls.h"

namespace onnx_cudnn {
namespace {

// The libraries of the host.
std::set<std::string> usable;                             // opens
std::map<std::string, std::vector<std::string>> matches;  // of patterns
std::vector<std::string> tried;
int library = 0;

constexpr LibraryCalls kHost = {
    .dlopen = [](const char* name, int) -> void* {
      tried.push_back(name);
      return usable.contains(name) ? &library : nullptr;
    },
    .dlsym = [](void*, const char* name) -> void* {
      return std::string(name) == "known" ? &library : nullptr;
    },
    .dlerror = []() -> const char* { return "wrong ELF class"; },
    .glob = [](const std::string& pattern) { return matches[pattern]; },
    .file_of = [](void*) { return std::string(); },
};

class FindLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    usable.clear();
    matches.clear();
    tried.clear();
    for (const char* name : {"ONNX_CUDNN_LIBCUDNN", "VIRTUAL_ENV", "CONDA_PREFIX"}) unsetenv(name);
  }
  const ScopedLibraryCalls scope_{kHost};
};

TEST_F(FindLibraryTest, PackagesBesideOursComeBeforeTheSystemsLoader) {
  const std::string file = "/site-packages/nvidia/cudnn/lib/libcudnn.so.9";
  matches[LibraryFolder() + "/../nvidia/*/lib/libcudnn.so.9"] = {file};
  usable = {"libcudnn.so.9"};
  EXPECT_EQ(FindLibrary(CudnnLibrary())->path, "libcudnn.so.9");  // it does not open
  usable.insert(file);
  EXPECT_EQ(FindLibrary(CudnnLibrary())->path, file);
}

TEST_F(FindLibraryTest, TheSystemsLoaderComesFirst) {
  usable = {"libcudnn.so.9"};
  EXPECT_EQ(FindLibrary(CudnnLibrary())->path, "libcudnn.so.9");
}

TEST_F(FindLibraryTest, TheVariableReplacesTheSearch) {
  usable = {"libcudnn.so.9"};
  setenv("ONNX_CUDNN_LIBCUDNN", "/mine/libcudnn.so", /*overwrite=*/1);
  EXPECT_EQ(FindLibrary(CudnnLibrary()).status().message(),
            "needs cuDNN 9 (libcudnn.so.9): ONNX_CUDNN_LIBCUDNN does not open: wrong ELF class; "
            "install it (pip install nvidia-cudnn-cu13), or set ONNX_CUDNN_LIBCUDNN to the file");
  usable.insert("/mine/libcudnn.so");
  EXPECT_EQ(FindLibrary(CudnnLibrary())->path, "/mine/libcudnn.so");
}

TEST_F(FindLibraryTest, PythonEnvironmentsAreSearched) {
  setenv("VIRTUAL_ENV", "/env", /*overwrite=*/1);
  const std::string file = "/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9";
  matches["/env/lib/python3*/site-packages/nvidia/*/lib/libcudnn.so.9"] = {file};
  usable = {file};
  EXPECT_EQ(FindLibrary(CudnnLibrary())->path, file);
}

TEST_F(FindLibraryTest, WhatALibraryOpensByNameIsOpenedFromItsFolder) {
  const std::string folder = "/usr/local/cuda-13.0/lib64/";
  matches["/usr/local/cuda*/lib64/libnvrtc.so.13"] = {folder + "libnvrtc.so.13"};
  matches[folder + "libnvrtc-builtins.so.*"] = {folder + "libnvrtc-builtins.so.13.0"};
  usable = {folder + "libnvrtc.so.13"};
  EXPECT_EQ(FindLibrary(NvrtcLibrary())->path, folder + "libnvrtc.so.13");
  EXPECT_EQ(tried.back(), folder + "libnvrtc-builtins.so.13.0");
}

TEST_F(FindLibraryTest, TheNewestVersionIsTakenFirst) {
  usable = {"libcublasLt.so.12", "libcublasLt.so.13"};
  EXPECT_EQ(FindLibrary(CublasLtLibrary())->path, "libcublasLt.so.13");
}

TEST_F(FindLibraryTest, AMissingLibraryIsOneLine) {
  EXPECT_EQ(FindLibrary(CudnnLibrary()).status().message(),
            "needs cuDNN 9 (libcudnn.so.9): found none in the system's, CUDA's and Python "
            "environments' library folders; install it (pip install nvidia-cudnn-cu13), or set "
            "ONNX_CUDNN_LIBCUDNN to the file");
  matches["/usr/local/cuda*/lib64/libcudnn.so.9"] = {"/usr/local/cuda-9/lib64/libcudnn.so.9"};
  EXPECT_NE(
      FindLibrary(CudnnLibrary()).status().message().find("found but not usable: wrong ELF class"),
      std::string::npos);
}

TEST_F(FindLibraryTest, AMissingFunctionIsAnotherVersion) {
  const FoundLibrary found{.handle = &library, .path = "libx.so"};
  EXPECT_TRUE(FindFunction(found, "known").ok());
  EXPECT_EQ(FindFunction(found, "unknown").status().message(),
            "libx.so has no function unknown: it is another version");
}

TEST_F(FindLibraryTest, TheAnswerIsKept) {
  const LibraryNeed need{.name = "kept", .files = {"libkept.so"}, .variable = "KEPT"};
  EXPECT_FALSE(OpenLibrary(need).ok());
  const size_t looks = tried.size();
  EXPECT_FALSE(OpenLibrary(need).ok());
  EXPECT_EQ(tried.size(), looks);
}

}  // namespace
}  // namespace onnx_cudnn
