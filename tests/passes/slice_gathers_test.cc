#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

std::string Of(std::string_view x, std::string_view index, std::string_view node) {
  return absl::StrCat("g (", x, " x) => (y) <int64", index, "> { y = ", node, " }");
}

TEST(SliceGathersTest, OneIndexIsASlice) {
  ExpectRewrite(SliceGathers(), Of("float[2,3,4]", " i = {2}", "Gather<axis = 1>(x, i)"),
                "g (f32[2,3,4] x) => (f32[2,4] y = squeeze) { "
                "slice = Slice(x, {2}, {3}, {1}) squeeze = Squeeze(slice, {1}) }");
  ExpectRewrite(SliceGathers(), Of("float16[N,3]", " i = {-1}", "Gather<axis = -1>(x, i)"),
                "g (f16[N,3] x) => (f16[N] y = squeeze) { "
                "slice = Slice(x, {2}, {3}, {1}) squeeze = Squeeze(slice, {1}) }");
}

TEST(SliceGathersTest, AVectorKeepsTheAxis) {
  ExpectRewrite(SliceGathers(), Of("float[2,3,4]", "[1] i = {0}", "Gather(x, i)"),
                "g (f32[2,3,4] x) => (f32[1,3,4] y = slice) { slice = Slice(x, {0}, {1}, {0}) }");
}

TEST(SliceGathersTest, LeavesOtherGathers) {
  for (const char* text :
       {"g (int64[2,3] x) => (y) <int64 i = {1}> { y = Gather(x, i) }",  // of a shape, perhaps
        "g (float[3] x) => (y) <int64 i = {1}> { y = Gather(x, i) }",    // of numbers
        "g (float[2,3] x, int64 i) => (y) { y = Gather(x, i) }",         // not constant
        "g (float[2,3] x) => (y) <int64[2] i = {1, 0}> { y = Gather(x, i) }",  // two of them
        "g (float[2,3] x) => (y) <int64[1,1] i = {1}> { y = Gather(x, i) }"}) {
    ExpectNoRewrite(SliceGathers(), text, "");
  }
  ExpectNoRewrite(SliceGathers(), Of("float[N,3]", " i = {1}", "Gather(x, i)"),
                  "the extent of its axis is not known");
  ExpectNoRewrite(SliceGathers(), Of("float[2,3]", " i = {2}", "Gather(x, i)"),
                  "its index is out of range");
}

TEST(SliceGathersTest, TheNumbersAreTheSame) {
  ExpectSameNumbers(SliceGathers(), Of("float[2,3,4]", " i = {-2}", "Gather<axis = 1>(x, i)"), 0);
  ExpectSameNumbers(SliceGathers(), Of("float[2,3,4]", "[1] i = {3}", "Gather<axis = 2>(x, i)"), 0);
}

}  // namespace
}  // namespace onnx_cudnn
