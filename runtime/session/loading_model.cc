#include "runtime/session/loading_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"
#include "runtime/base/parts_file.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/check_border.h"

namespace onnx_cudnn {
namespace {

// The file of parts that `source` is; nullptr: it is none.
absl::StatusOr<std::shared_ptr<const PartsFile>> OpenParts(const ModelSource& source) {
  if (source.path.empty()) {
    if (!PartsFile::StartsOne(source.bytes)) return nullptr;
    return PartsFile::Copy(source.bytes, "model");
  }
  ASSIGN_OR_RETURN(const File file, File::Open(source.path));
  ASSIGN_OR_RETURN(const bool is_one, PartsFile::IsOne(file));
  if (!is_one) return nullptr;
  return PartsFile::Open(file);
}

LoadOptions LoadOptionsOf(const SessionOptions& options) {
  return {.external_bytes = options.map_external_data ? ExternalBytes::kMap : ExternalBytes::kRead,
          .follow_hub_links = options.follow_hub_links};
}

}  // namespace

absl::StatusOr<LoadingModel> LoadingModel::Open(const ModelSource& source) {
  ASSIGN_OR_RETURN(std::shared_ptr<const PartsFile> parts, OpenParts(source));
  if (parts == nullptr) return LoadingModel(source, nullptr);
  ASSIGN_OR_RETURN(auto compiled, CompiledModel::Create(std::move(parts)));
  return LoadingModel(source, std::move(compiled));
}

SessionOptions LoadingModel::OptionsFor(const SessionOptions& asked) const {
  return compiled_ == nullptr ? asked : OptionsBy(compiled_->facts(), asked);
}

absl::Status LoadingModel::Read(const SessionOptions& options) {
  if (compiled_ != nullptr) return absl::OkStatus();
  const absl::Time start = absl::Now();
  const LoadOptions load = LoadOptionsOf(options);
  ASSIGN_OR_RETURN(graph_, source_.path.empty() ? LoadModelBytes(source_.bytes, load)
                                                : LoadModel(source_.path, load));
  load_ms_ = absl::ToDoubleMilliseconds(absl::Now() - start);
  return absl::OkStatus();
}

absl::StatusOr<OptimizedGraph> LoadingModel::OptimizeFor(const SessionOptions& options,
                                                         const Target& target) const {
  if (compiled_ != nullptr) return FromCompiled(options, target);
  return OptimizeGraph(graph_->Clone(), options, target);
}

absl::StatusOr<OptimizedGraph> LoadingModel::OptimizeForLast(const SessionOptions& options,
                                                             const Target& target) {
  if (compiled_ != nullptr) return FromCompiled(options, target);
  Graph graph = *std::move(graph_);
  Drop();
  return OptimizeGraph(std::move(graph), options, target);
}

absl::StatusOr<OptimizedGraph> LoadingModel::FromCompiled(const SessionOptions& options,
                                                          const Target& target) const {
  const std::string difference = WhatDiffers(compiled_->facts(), options, target.info);
  if (!difference.empty()) {
    ASSIGN_OR_RETURN(Graph graph, compiled_->Model());
    ASSIGN_OR_RETURN(OptimizedGraph optimized, OptimizeGraph(std::move(graph), options, target));
    // Level 0 asks for the model without rewrites, which the file has: nothing was done in vain.
    const bool is_asked = options.optimization_level == 0;
    if (!is_asked) optimized.note = absl::StrCat(difference, ": planned again from its model");
    return optimized;
  }
  const absl::Time start = absl::Now();
  OptimizedGraph optimized{.compute_capability = target.info.compute_capability,
                           .compiled = compiled_};
  ASSIGN_OR_RETURN(optimized.graph, compiled_->Optimized());
  RETURN_IF_ERROR(CheckBorder(optimized.graph));
  optimized.random = std::make_unique<const RandomStreams>(optimized.graph);
  optimized.ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  return optimized;
}

}  // namespace onnx_cudnn
