// Session, its options, its bindings and its Batcher for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "onnx_cudnn/session.h"
#include "python/src/tensor.h"

namespace onnx_cudnn::python {

using NamedTensors = std::vector<std::pair<std::string, const PyTensor*>>;
std::vector<NamedView> ViewsOf(const NamedTensors& tensors);

// Set by one thread, read by the Runs of others.
class CancelFlag {
 public:
  void Set(bool cancelled) { cancelled_ = cancelled; }
  bool IsSet() const { return cancelled_; }
  const std::atomic<bool>* raw() const { return &cancelled_; }

 private:
  std::atomic<bool> cancelled_ = false;
};

// The Session of a Python object of the class Session.
const Session& SessionOf(const nanobind::object& session);

// Adds SessionOptions and its enums.
void BindOptions(nanobind::module_& module);
// Adds CancelFlag, ValueInfo, Binding and Session.
void BindSession(nanobind::module_& module);
// Adds Batcher and BatcherStats.
void BindBatcher(nanobind::module_& module);

}  // namespace onnx_cudnn::python
