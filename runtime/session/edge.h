// The boundary of the public API: converts Statuses and exceptions to Results.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "onnx_cudnn/result.h"
#include "runtime/base/exception.h"
#include "runtime/base/forked.h"

namespace onnx_cudnn {

Error ToError(const absl::Status& status);

// Calls `body` and returns its result as a Result<T>; exceptions become Errors.
template <typename T, typename Body>
Result<T> AtEdge(Body body) {
  try {
    if (const absl::Status forked = CheckNotForked(); !forked.ok()) return ToError(forked);
    auto answer = body();
    if constexpr (std::is_void_v<T>) {
      if (answer.ok()) return {};
      return ToError(answer);
    } else {
      if (answer.ok()) return *std::move(answer);
      return ToError(answer.status());
    }
  } catch (...) {
    return ToError(StatusOfException());
  }
}

//   state  the state of a Session or a Binding
template <typename State>
absl::Status CheckNotMovedFrom(const State& state, std::string_view what) {
  if (state != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the %s was moved from: only the one that it was moved to can be used", what));
}

}  // namespace onnx_cudnn
