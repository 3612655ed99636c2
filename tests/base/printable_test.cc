#include "runtime/base/printable.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

TEST(PrintableTest, LettersOfAnyScriptStay) {
  for (const char* text : {"", "conv1/weight:0", "größe", "标签", "метка", "cafe\u0301",
                           "日本🙂", "a\\x1b \"quoted\""}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(Printable(text, Escaped::kJson), text);
  }
}

TEST(PrintableTest, ControlCharactersAreShown) {
  EXPECT_EQ(Printable("\x1b[31m\a\b\r\x7f"), "\\x1b[31m\\x07\\x08\\x0d\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m\xc2\x85"),
            "\\u{9b}31m\\u{85}");  // C1
}

TEST(PrintableTest, LineEndsAndTabsStayForLines) {
  EXPECT_EQ(Printable("a\n\tb"), "a\\x0a\\x09b");
  EXPECT_EQ(Printable("a\n\tb\r", Escaped::kLines), "a\n\tb\\x0d");
}

TEST(PrintableTest, MarksOfDirectionAndInvisibleCharactersAreShown) {
  EXPECT_EQ(Printable("\u202egnp.x\u2066\u2069\u200e\u200f\u202a\u061c"),
            "\\u{202e}gnp.x\\u{2066}\\u{2069}\\u{200e}\\u{200f}\\u{202a}\\u{61c}");
  EXPECT_EQ(Printable("a\u200bb\ufeff\u2028\U000e0041"), "a\\u{200b}b\\u{feff}\\u{2028}\\u{e0041}");
}

TEST(PrintableTest, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(Printable("\x9b"
                      "1m\xff"),
            "\\x9b1m\\xff");
  EXPECT_EQ(Printable("\xe6\xa0"), "\\xe6\\xa0");  // cut short
  EXPECT_EQ(Printable("\xe6\xa0"
                      "a"),
            "\\xe6\\xa0"
            "a");
  EXPECT_EQ(Printable("\xc0\x9b\xc1\xbf"), "\\xc0\\x9b\\xc1\\xbf");  // longer than they need be
  EXPECT_EQ(Printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST(PrintableTest, JsonHasItsOwnNotation) {
  EXPECT_EQ(Printable("{\n \"\u202e\x7f\": \"\\n\U000e0041\"}", Escaped::kJson),
            "{\n \"\\u202e\\u007f\": \"\\n\\udb40\\udc41\"}");
}

TEST(PrintableTest, UnfinishedCharactersAreCounted) {
  EXPECT_EQ(UnfinishedBytes(""), 0u);
  EXPECT_EQ(UnfinishedBytes("abc"), 0u);
  EXPECT_EQ(UnfinishedBytes("签"), 0u);
  EXPECT_EQ(UnfinishedBytes("a\xe7\xad"), 2u);
  EXPECT_EQ(UnfinishedBytes("\xf0\x9f\x99"), 3u);
  EXPECT_EQ(UnfinishedBytes("\xc3"), 1u);
  EXPECT_EQ(UnfinishedBytes("\x80\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace onnx_cudnn
