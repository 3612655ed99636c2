// Errors and results. No function of onnx_cudnn throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "onnx_cudnn/export.h"

namespace onnx_cudnn {

enum class ErrorCode : uint8_t {
  kInvalidArgument,     // the model, an input or an option is wrong
  kUnimplemented,       // valid ONNX that is not supported; the message says what would work
  kNotFound,            // no such file
  kDataLoss,            // a file that cannot be read or is cut short
  kResourceExhausted,   // memory; the message contains bytes requested and bytes free
  kFailedPrecondition,  // no such device or library, or calls in the wrong order
  kCancelled,           // a cancel flag was set, or a ProgressCallback returned false
  kInternal,  // a library call failed or an invariant is broken: please report it as a bug
};

struct Error {
  ErrorCode code;
  std::string message;  // where, what, found versus expected; no full stop
};

namespace session_internal {
[[noreturn]] ONNX_CUDNN_API void EndProcess(const Error& error);  // logs it
}  // namespace session_internal

// A T, or the Error that explains why there is none. value() of an error ends the process with its
// message.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: reads as `return value;`
  Result(Error error) : state_(std::move(error)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }  // only when !ok()
  T& value() & { return Checked(); }
  T&& value() && { return std::move(Checked()); }

 private:
  T& Checked() {
    if (!ok()) session_internal::EndProcess(error());
    return std::get<T>(state_);
  }
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: reads as `return error;`
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }  // only when !ok()

 private:
  std::optional<Error> error_;
};

}  // namespace onnx_cudnn
