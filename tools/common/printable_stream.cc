#include "tools/common/printable_stream.h"

#include <string_view>
#include <utility>

#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

bool Put(std::streambuf& to, std::string_view text) {
  const std::string printable = Printable(text, Escaped::kLines);
  const auto size = static_cast<std::streamsize>(printable.size());
  return to.sputn(printable.data(), size) == size;
}

}  // namespace

PrintableStream::PrintableStream(std::ostream& stream) : stream_(stream), to_(stream.rdbuf(this)) {}

PrintableStream::~PrintableStream() {
  stream_.flush();
  stream_.rdbuf(to_);
}

PrintableStream::int_type PrintableStream::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char character = traits_type::to_char_type(c);
  return xsputn(&character, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PrintableStream::xsputn(const char* text, std::streamsize size) {
  unfinished_.append(text, static_cast<size_t>(size));
  const size_t whole = unfinished_.size() - UnfinishedBytes(unfinished_);
  const bool was_put = Put(*to_, std::string_view(unfinished_).substr(0, whole));
  unfinished_.erase(0, whole);
  return was_put ? size : 0;
}

int PrintableStream::sync() {
  const bool was_put = Put(*to_, std::exchange(unfinished_, {}));
  return to_->pubsync() == 0 && was_put ? 0 : -1;
}

}  // namespace onnx_cudnn
