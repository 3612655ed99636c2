// Depthwise convolutions of 7 x 7 and the norm of their pixels as one launch: in wide and narrow
// threads, with strips of blocks that have threads without pixels.
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/emulator/conv/emulated_conv.h"

namespace onnx_cudnn {
namespace {

constexpr int kOfH200 = 132;

class DepthwiseNormCodeTest : public EmulatedConvTest {
 protected:
  struct Form {
    bool has_biases = true;
    double epsilon = 1e-5;
  };

  void Make(DType dtype, const Dims& dims, const Form& form) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(dtype, dims));
    const int64_t channels = dims[1];
    std::vector<Value*> inputs = {&x, &Weights(graph_, dtype, {channels, 1, 7, 7})};
    if (form.has_biases) inputs.push_back(&Weights(graph_, dtype, {channels}));
    Value& y = Append(graph_, "Conv", inputs, {{"group", channels}, {"pads", Ints{3, 3, 3, 3}}});
    Value& turned = Append(graph_, "Transpose", {&y}, {{"perm", Ints{0, 2, 3, 1}}});
    std::vector<Value*> factors = {&turned, &Weights(graph_, dtype, {channels})};
    if (form.has_biases) factors.push_back(&Weights(graph_, dtype, {channels}));
    Append(graph_, "LayerNormalization", factors,
           {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(form.epsilon)}});
  }

  void ExpectNear(double tolerance) {
    const Candidate candidate = Find("{Conv Transpose LayerNormalization} last > row");
    if (candidate.nodes.empty()) return;
    for (const int multiprocessors : {0, kOfH200}) {
      target_with_few_blocks_.info.multiprocessors = multiprocessors;
      EXPECT_EQ(emulator::CompareWithReference(CodeOf(CompileDepthwiseNorm, candidate), candidate,
                                               InputsOf(candidate), tolerance),
                "")
          << multiprocessors << " multiprocessors";
    }
  }
};

// Strips beyond the last column, blocks beyond the last strip, threads beyond the strips of a block
// (96 and 200 channels), one strip of a block (768) and all of its threads (1,024).
TEST_F(DepthwiseNormCodeTest, AnyChannels) {
  for (const int64_t channels : {64, 96, 200, 768, 1024}) {
    for (const auto& [dtype, tolerance] :
         {std::pair(DType::kF32, 2e-5), {DType::kF16, 2e-3}, {DType::kBF16, 1.6e-2}}) {
      SCOPED_TRACE(absl::StrCat(NameOf(dtype), " ", channels));
      Make(dtype, {2, channels, 3, 5}, {});
      ExpectNear(tolerance);
    }
  }
}

TEST_F(DepthwiseNormCodeTest, WithoutBiases) {
  Make(DType::kF16, {1, 72, 8, 9}, {.has_biases = false, .epsilon = 0.5});
  ExpectNear(2e-3);
}

}  // namespace
}  // namespace onnx_cudnn
