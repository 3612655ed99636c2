// Image arrays passed in the other layout (NCHW or NHWC).
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx_cudnn/session.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// The error of a Run on zeros with the shape `found`.
std::string ErrorFor(std::string_view declared, const std::vector<int64_t>& found) {
  const std::string text = absl::StrCat("g (float[", declared, "] x) => (y) { y = Relu(x) }");
  const Session session = Session::LoadBytes(ModelBytesFromText(text).value()).value();
  const Tensor x = Tensor::Allocate(DType::kF32, found).value();
  const auto run = session.Run({x.view()});
  return run.ok() ? "" : run.error().message;
}

TEST(LayoutTest, OffersTheTransposeOfAnImage) {
  EXPECT_EQ(ErrorFor("N,8,9,3", {1, 3, 8, 9}),
            "input \"x\": expected f32[N,8,9,3], found f32[1,3,8,9]; it fits as NHWC, if it is "
            "NCHW now: in numpy, x.transpose(0, 2, 3, 1)");
  EXPECT_EQ(ErrorFor("N,3,H,W", {2, 8, 9, 3}),
            "input \"x\": expected f32[N,3,H,W], found f32[2,8,9,3]; it fits as NCHW, if it is "
            "NHWC now: in numpy, x.transpose(0, 3, 1, 2)");
}

TEST(LayoutTest, OffersNoneWhereItWouldNotFit) {
  EXPECT_EQ(ErrorFor("N,3,8,9", {1, 8, 9, 4}),
            "input \"x\": expected f32[N,3,8,9], found f32[1,8,9,4]");
  EXPECT_EQ(ErrorFor("N,3,8", {1, 8, 3}), "input \"x\": expected f32[N,3,8], found f32[1,8,3]");
}

}  // namespace
}  // namespace onnx_cudnn
