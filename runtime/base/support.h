#pragma once

#include <string>
#include <utility>

namespace onnx_cudnn {

// The answer to "is this supported?". A no is an answer, not an error, and carries its reason.
class Support {
 public:
  static Support Yes() { return Support(); }
  static Support No(std::string reason) {
    Support support;
    support.yes_ = false;
    support.reason_ = std::move(reason);
    return support;
  }
  explicit operator bool() const { return yes_; }
  const std::string& reason() const { return reason_; }

 private:
  bool yes_ = true;
  std::string reason_;
};

}  // namespace onnx_cudnn
