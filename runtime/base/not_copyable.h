#pragma once

namespace onnx_cudnn {

// A base of classes whose objects are neither copied nor moved.
class NotCopyable {
 public:
  NotCopyable(const NotCopyable&) = delete;
  NotCopyable& operator=(const NotCopyable&) = delete;

 protected:
  NotCopyable() = default;
  ~NotCopyable() = default;
};

}  // namespace onnx_cudnn
