#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace onnx_cudnn {

// While it lives, everything written to `stream` passes through Printable (lines are kept).
class PrintableStream : private std::streambuf {
 public:
  explicit PrintableStream(std::ostream& stream);
  ~PrintableStream() override;
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

  std::ostream& stream_;
  std::streambuf* const to_;  // of the wrapped stream
  std::string unfinished_;    // bytes of an incomplete character
};

}  // namespace onnx_cudnn
