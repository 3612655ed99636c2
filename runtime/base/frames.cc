#include "runtime/base/frames.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

absl::Status Gone() { return absl::UnavailableError("the other side of a socket is gone"); }

absl::Status SendAll(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = send(socket, bytes, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Gone();
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int socket, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(socket, bytes, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Gone();
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace

// A frame is the length in eight bytes, in this host's order, and the text.
absl::Status SendFrame(int socket, std::string_view text) {
  const uint64_t size = text.size();
  RETURN_IF_ERROR(SendAll(socket, reinterpret_cast<const char*>(&size), sizeof(size)));
  return SendAll(socket, text.data(), text.size());
}

absl::StatusOr<std::string> ReceiveFrame(int socket) {
  uint64_t size = 0;
  RETURN_IF_ERROR(ReceiveAll(socket, reinterpret_cast<char*>(&size), sizeof(size)));
  if (size > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a text of ", size, " bytes over a socket"));
  }
  std::string text(size, '\0');
  RETURN_IF_ERROR(ReceiveAll(socket, text.data(), text.size()));
  return text;
}

}  // namespace onnx_cudnn
