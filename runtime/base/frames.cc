#include "runtime/base/frames.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Calls transfer(socket, bytes, size, flags), which is send or recv, until all is done.
template <typename Transfer, typename Byte>
absl::Status TransferAll(Transfer transfer, int socket, Byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = transfer(socket, bytes, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("the other side of a socket is gone");
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace

// A frame is the length in eight bytes, in this host's order, and the text.
absl::Status SendFrame(int socket, std::string_view text) {
  const uint64_t size = text.size();
  RETURN_IF_ERROR(TransferAll(send, socket, reinterpret_cast<const char*>(&size), sizeof(size)));
  return TransferAll(send, socket, text.data(), text.size());
}

absl::StatusOr<std::string> ReceiveFrame(int socket) {
  uint64_t size = 0;
  RETURN_IF_ERROR(TransferAll(recv, socket, reinterpret_cast<char*>(&size), sizeof(size)));
  if (size > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a text of ", size, " bytes over a socket"));
  }
  std::string text(size, '\0');
  RETURN_IF_ERROR(TransferAll(recv, socket, text.data(), text.size()));
  return text;
}

}  // namespace onnx_cudnn
