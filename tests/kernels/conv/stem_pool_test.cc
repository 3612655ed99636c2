// What stem_pool supports.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kernels/conv/conv_fixture.h"

namespace onnx_cudnn {
namespace {

TEST_F(ConvKernelsTest, StemAndPoolAreOneFromTheCallersImage) {
  Value& y = Conv(graph_, Input({256, 3, 224, 224}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const auto stem = Of(Around(y), "{Conv Relu MaxPool}");
  ASSERT_EQ(stem.size(), 1u);
  EXPECT_EQ(Describe(stem[0]), "{Conv Relu MaxPool} rows > last");
  EXPECT_NEAR(stem[0].cost.us, 98, 2);
}

TEST_F(ConvKernelsTest, StemTakesF32WhereTf32IsAllowed) {
  Value& y = Conv(graph_, Input({256, 3, 224, 224}, DType::kF32), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed strict = Around(y);
  EXPECT_TRUE(Of(strict, "{Conv Relu MaxPool}").empty());
  EXPECT_TRUE(Says(strict, absl::StrCat("stem_pool: ", kNoTf32)));
  EXPECT_TRUE(std::any_of(strict.not_fused.begin(), strict.not_fused.end(), [](const auto& line) {
    return absl::EndsWith(line, absl::StrCat(" to MaxPool: ", kNoTf32));
  }));
  Target target = target_;
  target.numerics.tf32 = true;
  const auto stem = Of(In(target, *y.producer()), "{Conv Relu MaxPool}");
  ASSERT_EQ(stem.size(), 1u);
  EXPECT_EQ(Describe(stem[0]), "{Conv Relu MaxPool} rows > last");
  EXPECT_NEAR(stem[0].cost.us, 161, 5);
  EXPECT_TRUE(engine_->Check(graph_, stem[0], target));
  EXPECT_FALSE(engine_->Check(graph_, stem[0], target_));
}

TEST_F(ConvKernelsTest, StemReadsTheImageAsTheCallerHasIt) {
  Value& x = Input({1, 3, 64, 224}, DType::kF32);
  Value& half = Append(graph_, "Cast", {&x}, {{"to", int64_t{10}}});
  Value& y = Conv(graph_, half, {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  EXPECT_TRUE(Has(Around(y), "{Cast Conv Relu MaxPool} rows > last"));
}

TEST_F(ConvKernelsTest, StemStaysAloneIfItHasOtherReaders) {
  Value& y = Conv(graph_, Input({1, 3, 64, 224}), {.kernel = 7, .stride = 2});
  Value& relu = Relu(y);
  graph_.AddOutput("seen", relu);
  MaxPool(graph_, relu);
  EXPECT_TRUE(Of(Around(y), "{Conv Relu MaxPool}").empty());
}

TEST_F(ConvKernelsTest, StemRequiresItsWindow) {
  Value& y = Conv(graph_, Input({1, 3, 32, 32}), {.kernel = 5, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed proposed = Around(y);
  EXPECT_TRUE(Of(proposed, "{Conv Relu MaxPool}").empty());
  EXPECT_TRUE(Says(proposed, "stem_pool: the convolution is not 7 x 7 with stride 2 and pads 3"));
}

TEST_F(ConvKernelsTest, StemRequiresItsImage) {
  Value& narrow = Conv(graph_, Input({1, 3, 64, 64}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(narrow));
  EXPECT_TRUE(Says(Around(narrow),
                   "stem_pool: the image is 64 x 64, not 224 wide and a multiple of 4 high"));
  Value& thick = Conv(graph_, Input({1, 4, 64, 224}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(thick));
  EXPECT_TRUE(Says(Around(thick), "stem_pool: 4 to 64 channels are not 3 to 64"));
}

TEST_F(ConvKernelsTest, StemTakesNothingButACastBeforeIt) {
  Value& x = Input({1, 3, 64, 224});
  Value& y = Conv(graph_, Append(graph_, "Neg", {&x}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed proposed = Around(y);
  EXPECT_TRUE(Of(proposed, "{Neg Conv Relu MaxPool}").empty());
  EXPECT_FALSE(Of(proposed, "{Conv Relu MaxPool}").empty());
}

}  // namespace
}  // namespace onnx_cudnn
