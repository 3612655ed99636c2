#include "tools/common/printable_stream.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>

namespace onnx_cudnn {
namespace {

TEST(PrintableStreamTest, EscapesWhateverIsWritten) {
  std::ostringstream out;
  {
    const PrintableStream printable(out);
    out << "\x1b[2J" << '\a' << std::setw(3) << 5 << " 标签\n\u202e";
    out.put('\x7f');
  }
  EXPECT_EQ(out.str(), "\\x1b[2J\\x07  5 标签\n\\u{202e}\\x7f");
  out << '\x1b';  // its own again
  EXPECT_EQ(out.str().back(), '\x1b');
}

TEST(PrintableStreamTest, ACharacterMayComeInPieces) {
  std::ostringstream out;
  const PrintableStream printable(out);
  for (const char c : std::string_view("标🙂")) out << c;
  EXPECT_EQ(out.str(), "标🙂");
  out << "\xe6" << std::flush;  // what is never finished
  EXPECT_EQ(out.str(), "标🙂\\xe6");
}

TEST(PrintableStreamTest, AStreamThatTakesNothingFails) {
  struct Full : std::streambuf {
  } no_room;  // overflow of the base class refuses
  std::ostream out(&no_room);
  const PrintableStream printable(out);
  out << "text" << std::flush;
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace onnx_cudnn
