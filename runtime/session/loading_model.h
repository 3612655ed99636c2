#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "onnx_cudnn/options.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/engine.h"
#include "runtime/session/compiled_model.h"
#include "runtime/session/optimized_graph.h"
#include "runtime/session/worker_tuning.h"

namespace onnx_cudnn {

// A model on its way into a Session: an ONNX model, or a compiled one, of which the parts that a
// device needs are read when that is known.
class LoadingModel {
 public:
  // Opens a compiled model; nothing is read of another one. The source must outlive the result.
  //   errors  those of files and of compiled models
  static absl::StatusOr<LoadingModel> Open(const ModelSource& source);

  // `asked` with what a compiled model decides where they leave it open.
  SessionOptions OptionsFor(const SessionOptions& asked) const;
  const CompiledModel* compiled() const { return compiled_.get(); }  // nullptr: an ONNX model

  // Reads an ONNX model. To be called once.
  absl::Status Read(const SessionOptions& options);
  // The model for one of several devices, optimized as the options ask: of a compiled model its
  // optimized graph, with its forms of weights, unless something differs.
  absl::StatusOr<OptimizedGraph> OptimizeFor(const SessionOptions& options,
                                             const Target& target) const;
  // The same for the last device: the model's own weights are no longer held.
  absl::StatusOr<OptimizedGraph> OptimizeForLast(const SessionOptions& options,
                                                 const Target& target);
  // Ends holding the model.
  void Drop() { graph_.reset(); }
  double load_ms() const { return load_ms_; }  // of Read

 private:
  LoadingModel(const ModelSource& source, std::shared_ptr<const CompiledModel> compiled)
      : source_(source), compiled_(std::move(compiled)) {}
  absl::StatusOr<OptimizedGraph> FromCompiled(const SessionOptions& options,
                                              const Target& target) const;

  ModelSource source_;
  std::shared_ptr<const CompiledModel> compiled_;
  std::optional<Graph> graph_;  // of an ONNX model that was read
  double load_ms_ = 0;
};

}  // namespace onnx_cudnn
