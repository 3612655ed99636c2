// The doctor over a fake CUDA runtime and fake libraries.
#include "onnx_cudnn/doctor.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/library_calls.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kFolder = "/fake/lib/";

// The libraries of the host: their files' names in kFolder.
std::set<std::string> installed;
size_t cudnn_version = 91900;

size_t CudnnVersion() { return cudnn_version; }
size_t LtVersion() { return 130100; }
int NvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int DriverVersion(int* version) {
  *version = 13010;
  return 0;
}

struct FakeFunction {
  std::string library, name;
  void* function;
};
const std::vector<FakeFunction>& Functions() {
  static const auto& functions = *new std::vector<FakeFunction>{
      {"libcudnn.so.9", "cudnnGetVersion", reinterpret_cast<void*>(CudnnVersion)},
      {"libcublasLt.so.13", "cublasLtGetVersion", reinterpret_cast<void*>(LtVersion)},
      {"libnvrtc.so.13", "nvrtcVersion", reinterpret_cast<void*>(NvrtcVersion)},
      {"libcuda.so.1", "cuDriverGetVersion", reinterpret_cast<void*>(DriverVersion)}};
  return functions;
}

// A handle is the address of the name in `installed`.
constexpr LibraryCalls kHost = {
    .dlopen = [](const char* name, int) -> void* {
      const auto found = installed.find(name);
      return found == installed.end() ? nullptr : const_cast<std::string*>(&*found);
    },
    .dlsym = [](void* library, const char* name) -> void* {
      for (const FakeFunction& f : Functions()) {
        if (f.library == *static_cast<std::string*>(library) && f.name == name) return f.function;
      }
      return nullptr;
    },
    .dlerror = []() -> const char* { return "no such file"; },
    .glob = [](const std::string& pattern) -> std::vector<std::string> {
      const bool is_here =
          absl::StartsWith(pattern, kFolder) && installed.contains(pattern.substr(kFolder.size()));
      return is_here ? std::vector<std::string>{pattern} : std::vector<std::string>();
    },
    .file_of = [](void* function) -> std::string {
      for (const FakeFunction& f : Functions()) {
        if (f.function == function) return absl::StrCat(kFolder, f.library);
      }
      return "";
    },
};

class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"ONNX_CUDNN_LIBCUDNN", "ONNX_CUDNN_LIBCUBLASLT", "ONNX_CUDNN_LIBNVRTC"}) {
      unsetenv(name);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    cudnn_version = 91900;
    installed = {"libcuda.so.1", "libcublasLt.so.13", "libnvrtc.so.13", "libcudnn.so.9"};
    for (const char* part : {"graph", "heuristic", "engines_precompiled",
                             "engines_runtime_compiled", "ops", "cnn", "adv"}) {
      installed.insert(absl::StrCat("libcudnn_", part, ".so.9"));
    }
  }
  // A worker program that exists, so that findings are those of the GPU.
  DoctorReport Examine() { return Doctor({.plan_cache = "", .tune_worker = "/bin/sh"}); }

  const ScopedLibraryCalls scope_{kHost};
};

const LibraryFacts* Find(const DoctorReport& report, std::string_view name) {
  for (const LibraryFacts& library : report.libraries) {
    if (library.name == name) return &library;
  }
  return nullptr;
}

TEST_F(DoctorTest, FindsEverythingThatARunNeeds) {
  const FakeCuda cuda({.devices = 2});
  const DoctorReport report = Examine();
  EXPECT_TRUE(report.gpu_runs);
  for (const DoctorFinding& finding : report.findings) ADD_FAILURE() << finding.what;
  EXPECT_EQ(report.driver_cuda, "13.0");
  ASSERT_EQ(report.gpus.size(), 2u);
  EXPECT_EQ(report.gpus[1].ordinal, 1);
  EXPECT_EQ(report.gpus[1].product, "NVIDIA Fake");
  EXPECT_EQ(report.gpus[1].compute_capability, 90);
  EXPECT_GT(report.gpus[1].memory_bytes, 0);
  ASSERT_NE(Find(report, "cuDNN"), nullptr);
  EXPECT_EQ(Find(report, "cuDNN")->version, "9.19.0");
  EXPECT_EQ(Find(report, "cuDNN")->file, "/fake/lib/libcudnn.so.9");
  EXPECT_EQ(Find(report, "cuBLASLt")->version, "13.1.0");
  EXPECT_EQ(Find(report, "NVRTC")->version, "13.0");
  EXPECT_EQ(Find(report, "CUDA driver")->version, "CUDA 13.1");
  EXPECT_EQ(Find(report, "cuDNN heuristic")->file, "/fake/lib/libcudnn_heuristic.so.9");
  EXPECT_GE(report.threads, 1);
  EXPECT_GT(report.memory_bytes, 0);
  EXPECT_EQ(report.tune_worker, "/bin/sh");
}

TEST_F(DoctorTest, AMissingDriverIsBroughtByTheDistribution) {
  const FakeCuda cuda({.driver = 0});
  installed.erase("libcuda.so.1");
  const DoctorReport report = Examine();
  EXPECT_FALSE(report.gpu_runs);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].what, "found no NVIDIA driver, needs one for CUDA 13.0 or later");
  EXPECT_TRUE(absl::StrContains(report.findings[0].remedy, "docker run --gpus all"));
  EXPECT_EQ(report.findings[0].without, "models run on the CPU");
  EXPECT_TRUE(report.gpus.empty());
  EXPECT_EQ(report.driver_cuda, "");
  EXPECT_EQ(Find(report, "CUDA driver")->file, "");
}

TEST_F(DoctorTest, AnOldDriverIsTold) {
  const FakeCuda cuda({.driver = 12040});
  const DoctorReport report = Examine();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(report.findings[0].what, "a driver for CUDA 12.4"));
  EXPECT_TRUE(absl::StrContains(report.findings[0].remedy, "docker"));
  EXPECT_EQ(report.driver_cuda, "12.4");
}

TEST_F(DoctorTest, AGpuThatThisBuildDoesNotRunOnIsListed) {
  const FakeCuda cuda({.compute_capability = 75});
  const DoctorReport report = Examine();
  EXPECT_FALSE(report.gpu_runs);
  ASSERT_EQ(report.gpus.size(), 1u);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].what, "found NVIDIA Fake (sm_75), needs sm_80 or later");
  EXPECT_EQ(report.findings[0].remedy, "use an Ampere GPU or a later one");
}

TEST_F(DoctorTest, MissingLibrariesNameTheCommandThatBringsThem) {
  const FakeCuda cuda;
  installed = {"libcuda.so.1"};
  const DoctorReport report = Examine();
  EXPECT_FALSE(report.gpu_runs);
  ASSERT_EQ(report.findings.size(), 3u);
  EXPECT_TRUE(absl::StartsWith(report.findings[0].what, "needs cuBLASLt 12 or 13"));
  EXPECT_TRUE(absl::StartsWith(report.findings[0].remedy, "pip install nvidia-cublas\n"));
  EXPECT_TRUE(
      absl::StartsWith(report.findings[1].what, "needs cuDNN 9 (libcudnn.so.9): found none"));
  EXPECT_TRUE(absl::StartsWith(report.findings[1].remedy, "pip install nvidia-cudnn-cu13\n"));
  EXPECT_TRUE(absl::StrContains(report.findings[1].remedy, "apt-get install libcudnn9-cuda-13"));
  EXPECT_FALSE(absl::StrContains(report.findings[1].what, "install"));
  EXPECT_FALSE(report.findings[2].is_needed);  // NVRTC, after what is needed
  EXPECT_EQ(Find(report, "cuDNN graph"), nullptr);
}

TEST_F(DoctorTest, WhatIsAdvisedAloneDoesNotPreventRuns) {
  const FakeCuda cuda;
  installed.erase("libnvrtc.so.13");
  const DoctorReport report = Examine();
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(report.gpu_runs);
}

TEST_F(DoctorTest, AnOldOrIncompleteCudnnIsTold) {
  const FakeCuda cuda;
  cudnn_version = 90100;
  installed.erase("libcudnn_heuristic.so.9");
  const DoctorReport report = Examine();
  EXPECT_FALSE(report.gpu_runs);
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].what,
            "found cuDNN 9.1.0 in /fake/lib/libcudnn.so.9, needs 9.8.0 or later");
  EXPECT_EQ(report.findings[1].what, "cuDNN in /fake/lib is without libcudnn_heuristic.so.9");
}

TEST_F(DoctorTest, APlanCacheIsCountedForTheGpu) {
  const FakeCuda cuda;
  const TempFolder folder;
  const std::string path = folder.Write("plans.json", R"({"format": "onnx-cudnn plan cache 1",
      "entries": [
        {"device": "nvidia fake", "signature": "a", "engine": "cudnn", "variant": "v", "us": 1.5,
         "workspace_bytes": 0, "checked": true, "versions": {"engine": "9", "driver": "1",
         "cuda": "13.0"}, "date": "2026-11-22"},
        {"device": "h200", "signature": "a", "engine": "cudnn", "variant": "v", "us": 1.5,
         "workspace_bytes": 0, "checked": true, "versions": {"engine": "9", "driver": "1",
         "cuda": "13.0"}, "date": "2026-11-22"}]})");
  const DoctorReport report = Doctor({.plan_cache = path, .tune_worker = "/bin/sh"});
  EXPECT_EQ(report.plan_cache.path, path);
  EXPECT_EQ(report.plan_cache.entries, 2);
  EXPECT_EQ(report.plan_cache.for_this_gpu, 1);
  EXPECT_EQ(report.plan_cache.failed, 0);
  const DoctorReport none =
      Doctor({.plan_cache = folder.path("none.json"), .tune_worker = "/no/worker"});
  EXPECT_TRUE(none.gpu_runs);
  ASSERT_EQ(none.findings.size(), 2u);
  EXPECT_EQ(none.findings[0].what, "found no program /no/worker");
  EXPECT_TRUE(absl::StrContains(none.findings[1].what, "none.json"));
}

}  // namespace
}  // namespace onnx_cudnn
