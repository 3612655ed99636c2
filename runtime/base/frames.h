// Texts of any length over a stream socket between two programs of this build.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// errors  Unavailable: the other side is gone
absl::Status SendFrame(int socket, std::string_view text);

// Waits for the next text.
//   errors  Unavailable: the other side is gone. ResourceExhausted: the text is longer than 1 GiB
absl::StatusOr<std::string> ReceiveFrame(int socket);

}  // namespace onnx_cudnn
