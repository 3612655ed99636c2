// Sessions of Graphs created in memory and on the tests' own devices, and worker programs for them.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/check_options.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/loading_model.h"
#include "runtime/session/model_replicas.h"
#include "runtime/tune/plan_cache.h"
#include "tests/support/graph_text.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {

struct SessionMaker {
  // The CPU device that behaves like a GPU towards its callers.
  static absl::StatusOr<OpenedDevice> Open() {
    OpenedDevice opened{.device = MakeCpuDevice({.interleave_seed = 1, .like_a_gpu = true})};
    ASSIGN_OR_RETURN(opened.target, MakeTarget("h200"));
    return opened;
  }
  // On the device that the options select.
  static absl::StatusOr<Session> Make(Graph graph, const SessionOptions& options) {
    RETURN_IF_ERROR(CheckOptions(options));
    ASSIGN_OR_RETURN(OpenedDevice opened, OpenDevice(options));
    ASSIGN_OR_RETURN(auto model,
                     LoadedModel::Create(std::move(graph), options, 0, std::move(opened)));
    return Session(std::move(model));
  }
  // If the options set `tune_worker`, a worker program may measure.
  static absl::StatusOr<Session> Make(std::string_view text, const SessionOptions& options,
                                      absl::StatusOr<OpenedDevice> opened = Open()) {
    RETURN_IF_ERROR(CheckOptions(options));
    RETURN_IF_ERROR(opened.status());
    ASSIGN_OR_RETURN(const std::string bytes, ModelBytesFromText(text));
    ASSIGN_OR_RETURN(Graph graph, LoadModelBytes(bytes, {}));
    TuneSetup tuning;
    if (!options.tune_worker.empty()) tuning.source.bytes = bytes;
    ASSIGN_OR_RETURN(auto model, LoadedModel::Create(std::move(graph), options, 0,
                                                     *std::move(opened), std::move(tuning)));
    return Session(std::move(model));
  }
  // Of a file, as Session::Load reads it, with the plans of a compiled model alone.
  static absl::StatusOr<Session> Load(const std::string& path, const SessionOptions& asked,
                                      absl::StatusOr<OpenedDevice> opened = Open()) {
    RETURN_IF_ERROR(opened.status());
    ASSIGN_OR_RETURN(LoadingModel loading, LoadingModel::Open({.path = path}));
    const SessionOptions options = loading.OptionsFor(asked);
    RETURN_IF_ERROR(loading.Read(options));
    TuneSetup tuning;
    if (loading.compiled() != nullptr) {
      ASSIGN_OR_RETURN(PlanFile plans, loading.compiled()->Plans());
      ASSIGN_OR_RETURN(std::unique_ptr<PlanCache> cache, PlanCache::Open(""));
      cache->AddEntries(std::move(plans));
      std::promise<absl::StatusOr<std::unique_ptr<PlanCache>>> read;
      read.set_value(std::move(cache));
      tuning.plan_cache = read.get_future();
    }
    ASSIGN_OR_RETURN(OptimizedGraph optimized,
                     loading.OptimizeForLast(options, opened->target.target));
    ASSIGN_OR_RETURN(auto model,
                     LoadedModel::Create(std::move(optimized), options, loading.load_ms(),
                                         *std::move(opened), std::move(tuning)));
    return Session(std::move(model));
  }
  // On several devices.
  static absl::StatusOr<Session> Make(std::string_view text, const SessionOptions& options,
                                      std::vector<OpenedDevice> opened) {
    std::vector<std::shared_ptr<const LoadedModel>> models;
    for (OpenedDevice& device : opened) {
      ASSIGN_OR_RETURN(models.emplace_back(),
                       LoadedModel::Create(GraphFromText(text), options, 0, std::move(device)));
    }
    return Session(std::make_shared<const ModelReplicas>(std::move(models), options.rerun_if_lost));
  }
};

// A worker program that is a shell script.
inline std::string Worker(const TempFolder& folder, std::string_view script) {
  const std::string path = folder.Write("worker", absl::StrCat("#!/bin/sh\n", script));
  EXPECT_EQ(chmod(path.c_str(), 0700), 0);
  return path;
}

}  // namespace onnx_cudnn
