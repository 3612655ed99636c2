// Depthwise convolutions of channels-last images: every square window, in wide and narrow threads.
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/emulator/conv/emulated_conv.h"

namespace onnx_cudnn {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int kOfH200 = 132;

// The numbers of Pattern and their sums are exact, so that results are equal, bit by bit.
class DepthwiseCodeTest : public EmulatedConvTest {
 protected:
  struct Window {
    int64_t kernel, stride = 1;
    int64_t dilation = 1;
    bool has_bias = true;
  };

  Value& Depthwise(DType dtype, const Dims& dims, const Window& window) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(dtype, dims));
    const int64_t channels = dims[1], pad = window.kernel / 2;
    std::vector<Value*> inputs = {
        &x, &Weights(graph_, dtype, {channels, 1, window.kernel, window.kernel})};
    if (window.has_bias) inputs.push_back(&Weights(graph_, dtype, {channels}));
    return Append(graph_, "Conv", inputs,
                  {{"group", channels},
                   {"pads", Ints{pad, pad, pad, pad}},
                   {"strides", Ints{window.stride, window.stride}},
                   {"dilations", Ints{window.dilation, window.dilation}}});
  }

  // Code for a GPU with this many multiprocessors; with 0, any number of wide threads is enough.
  absl::StatusOr<KernelCode> CodeFor(int multiprocessors, const Candidate& candidate) {
    target_with_few_blocks_.info.multiprocessors = multiprocessors;
    return CodeOf(CompileDepthwiseConv, candidate);
  }

  // Compares the Candidate that starts with `line`, in both widths of threads, with the reference.
  void ExpectExact(std::string_view line) { ExpectNear(line, 0); }
  void ExpectNear(std::string_view line, double tolerance) {
    const Candidate candidate = Find(line);
    if (candidate.nodes.empty()) return;
    for (const int multiprocessors : {0, kOfH200}) {
      EXPECT_EQ(emulator::CompareWithReference(CodeFor(multiprocessors, candidate), candidate,
                                               InputsOf(candidate), tolerance),
                "")
          << multiprocessors << " multiprocessors";
    }
  }

  unsigned Blocks(DType dtype, const Dims& dims) {
    Depthwise(dtype, dims, {.kernel = 3});
    const auto code = CodeFor(kOfH200, Find("{Conv} last > last"));
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() ? code->calls.at(0).shape.grid.x : 0;
  }
};

// Widths that are not a multiple of a strip, rows and columns that begin and end outside the image.
TEST_F(DepthwiseCodeTest, EverySquare) {
  for (const DType dtype : kTypes) {
    for (const int64_t kernel : {3, 5, 7}) {
      for (const int64_t stride : {1, 2}) {
        SCOPED_TRACE(absl::StrCat(NameOf(dtype), " ", kernel, "/", stride));
        Depthwise(dtype, {2, 24, 6, 11}, {.kernel = kernel, .stride = stride});
        ExpectExact("{Conv} last > last");
      }
    }
  }
}

// No row or column is inside the image for every tap.
TEST_F(DepthwiseCodeTest, ImagesSmallerThanTheWindow) {
  for (const int64_t stride : {1, 2}) {
    Depthwise(DType::kF16, {3, 8, 2, 3}, {.kernel = 7, .stride = stride, .has_bias = false});
    ExpectExact("{Conv} last > last");
  }
}

// The last narrow thread of a pixel has only padding lanes, for 16-bit elements.
TEST_F(DepthwiseCodeTest, PaddedChannels) {
  for (const DType dtype : kTypes) {
    const std::string padded = dtype == DType::kF32 ? "last4" : "last8";
    for (const int64_t kernel : {3, 5, 7}) {
      SCOPED_TRACE(absl::StrCat(NameOf(dtype), " ", kernel));
      Depthwise(dtype, {2, 9, 5, 7}, {.kernel = kernel, .stride = 2});
      ExpectExact(absl::StrCat("{Conv} ", padded, " > ", padded));
    }
  }
}

TEST_F(DepthwiseCodeTest, NodesBehindIt) {
  for (const DType dtype : kTypes) {
    for (const int64_t kernel : {3, 7}) {
      SCOPED_TRACE(absl::StrCat(NameOf(dtype), " ", kernel));
      Value& y = Depthwise(dtype, {2, 16, 5, 9}, {.kernel = kernel});
      Append(graph_, "Relu", {&y});
      ExpectExact("{Conv Relu} last > last");
    }
  }
}

TEST_F(DepthwiseCodeTest, RemaindersHaveTheSignOfTheDivisor) {  // of zeros the reciprocal shows it
  Value& y = Depthwise(DType::kF32, {1, 8, 4, 7}, {.kernel = 3});
  Value& unit = graph_.AddConstant(TensorOf(DType::kF32, {}, {0x1p-8}));  // of all sums
  Append(graph_, "Reciprocal", {&Append(graph_, "Mod", {&y, &unit})});
  ExpectExact("{Conv Mod Reciprocal} last > last");
}

TEST_F(DepthwiseCodeTest, TwoOutputs) {  // the wider one is not rounded to f16 before
  constexpr double kHalf = 1e-3;
  for (const int64_t channels : {16, 13}) {
    Value& y = Depthwise(DType::kF16, {1, channels, 4, 7}, {.kernel = 3, .has_bias = false});
    graph_.AddOutput("halfs", y);
    Append(graph_, "Cast", {&y}, {{"to", static_cast<int64_t>(DType::kF32)}});
    ExpectNear(channels == 16 ? "{Conv Cast} last > last last" : "{Conv Cast} last4 > last4 last4",
               kHalf);
  }
}

// One pixel per thread.
TEST_F(DepthwiseCodeTest, OtherWindows) {
  for (const DType dtype : kTypes) {
    for (const Window& window : {Window{.kernel = 4}, Window{.kernel = 3, .stride = 3},
                                 Window{.kernel = 3, .dilation = 2}}) {
      SCOPED_TRACE(absl::StrCat(NameOf(dtype), " ", window.kernel));
      Depthwise(dtype, {2, 8, 9, 10}, window);
      ExpectExact("{Conv} last > last");
    }
  }
}

TEST_F(DepthwiseCodeTest, ThreadsAreNarrowWhereThereAreFew) {
  EXPECT_EQ(Blocks(DType::kF16, {1, 96, 80, 80}), 24u * 40 * 80 / 128);
  EXPECT_EQ(Blocks(DType::kF16, {16, 96, 80, 80}), 16u * 12 * 20 * 80 / 128);
  EXPECT_EQ(Blocks(DType::kF32, {1, 96, 12, 80}), 24u * 40 * 12 / 128);
  EXPECT_EQ(Blocks(DType::kF32, {8, 96, 80, 80}), 8u * 24 * 20 * 80 / 128);
}

}  // namespace
}  // namespace onnx_cudnn
