// Resize of images, nearest and linear, by threads that compute several rows of a column, and where
// a scale changes more than rows and columns.
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class ResizeCodeTest : public KernelsTest {
 protected:
  ResizeCodeTest() { small_target_.info.multiprocessors = 1; }

  // Runs `text` in every layout that the kernel proposes.
  void CheckText(const std::string& text, double tolerance) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    const Value& x = *graph.inputs()[0];
    const HostTensor input = TensorOf(x.dtype(), x.dims(), Pattern(x.elements(), 1));
    const auto candidates = At(graph, "Resize").candidates;
    ASSERT_FALSE(candidates.empty());
    for (const Candidate& candidate : candidates) {
      const auto code = CompileVariant(candidate, {.text = "resize"}, small_target_);
      ASSERT_TRUE(code.ok()) << code.status();
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, {input}, tolerance), "")
          << Describe(candidate);
    }
  }
  void Check(const std::string& type, const std::string& dims, const std::string& scales,
             const std::string& attributes, double tolerance) {
    CheckText(absl::Substitute("g ($0[$1] x) => (y) <float[4] s = {$2}> { y = Resize<$3>(x, , s) }",
                               type, dims, scales, attributes),
              tolerance);
  }

 private:
  Target small_target_ = target_;  // so that threads compute several rows of small images
};

constexpr const char* kCoordinates[] = {"half_pixel",    "half_pixel_symmetric",
                                        "align_corners", "pytorch_half_pixel",
                                        "asymmetric",    "tf_half_pixel_for_nn"};

TEST_F(ResizeCodeTest, EveryPlaceOfPixels) {
  for (const char* coordinates : kCoordinates) {
    const std::string attributes =
        absl::Substitute("coordinate_transformation_mode = \"$0\", mode = ", coordinates);
    for (const char* scales : {"1.0, 1.0, 2.0, 2.0", "1.0, 1.0, 0.6, 1.7", "1.0, 1.0, 3.0, 0.5"}) {
      Check("float", "2,8,6,10", scales, attributes + "\"linear\"", 2e-6);
      Check("float16", "2,8,6,10", scales, attributes + "\"linear\"", 2e-3);
      Check("float16", "2,8,6,10", scales, attributes + "\"nearest\"", 0);
    }
  }
}

TEST_F(ResizeCodeTest, ThreadsOfSeveralRows) {
  for (const char* dims : {"1,16,32,30", "3,3,40,33", "2,8,31,29"}) {
    for (const char* scales : {"1.0, 1.0, 2.0, 2.0", "1.0, 1.0, 1.5, 1.3"}) {
      Check("float", dims, scales, "mode = \"linear\"", 2e-6);
      Check("float", dims, scales, "mode = \"nearest\"", 0);
    }
  }
  Check("bfloat16", "1,16,32,30", "1.0, 1.0, 2.0, 2.0", "mode = \"linear\"", 1.6e-2);
  Check("double", "1,16,32,30", "1.0, 1.0, 2.0, 2.0", "mode = \"linear\"", 1e-12);
  Check("uint8", "1,16,32,30", "1.0, 1.0, 2.0, 2.0", "mode = \"nearest\"", 0);
  Check("int64", "1,16,32,30", "1.0, 1.0, 2.0, 2.0", "mode = \"nearest\"", 0);
}

TEST_F(ResizeCodeTest, RowsOfWholeVectors) {
  for (const char* scales : {"1.0, 1.0, 2.0, 2.0", "1.0, 1.0, 0.4, 1.34", "1.0, 1.0, 3.0, 0.67"}) {
    for (const char* type : {"float", "float16", "bfloat16", "double", "uint8", "int64"}) {
      Check(type, "2,3,17,24", scales, "mode = \"nearest\"", 0);
    }
    Check("float", "2,3,17,24", scales, "mode = \"linear\"", 2e-6);
    Check("float16", "2,3,17,24", scales, "mode = \"linear\"", 2e-3);
    Check("bfloat16", "2,3,17,24", scales, "mode = \"linear\"", 1.6e-2);
    Check("double", "2,3,17,24", scales, "mode = \"linear\"", 1e-12);
  }
  Check("float16", "1,3,17,24", "1.0, 1.3, 2.0, 2.0", "mode = \"linear\"", 2e-3);
}

// An edge's single tap must not become infinity minus infinity, or infinity times zero.
TEST_F(ResizeCodeTest, KeepsInfinitiesAtEdges) {
  const Graph graph = GraphFromText(
      "g (float16[1,1,4,4] x) => (y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> { y = Resize<mode = "
      "\"linear\">(x, , s) }");
  std::vector<double> numbers(16, 1);
  numbers[0] = std::numeric_limits<double>::infinity();
  const HostTensor input = TensorOf(DType::kF16, {1, 1, 4, 4}, numbers);
  for (const Candidate& candidate : At(graph, "Resize").candidates) {
    const auto code = CompileVariant(candidate, {.text = "resize"}, target_);
    EXPECT_EQ(emulator::CompareWithReference(code, candidate, {input}, 0), "")
        << Describe(candidate);
  }
}

TEST_F(ResizeCodeTest, OnlyRowsOrOnlyColumns) {
  for (const char* mode : {"mode = \"linear\"", "mode = \"nearest\""}) {
    Check("float", "2,4,9,8", "1.0, 1.0, 2.0, 1.0", mode, 2e-6);
    Check("float", "2,4,9,8", "1.0, 1.0, 1.0, 2.0", mode, 2e-6);
    Check("float", "2,4,9,8", "1.0, 2.0, 2.0, 2.0", mode, 2e-6);
    Check("float", "2,4,9,8", "2.0, 1.0, 2.0, 2.0", mode, 2e-6);
  }
}

// Three channels stay three, but are not the same ones.
TEST_F(ResizeCodeTest, ScalesThatKeepAnExtentAndMoveItsElements) {
  for (const char* mode : {"mode = \"linear\"", "mode = \"nearest\""}) {
    Check("float", "2,3,6,10", "1.0, 1.3, 2.0, 2.0", mode, 2e-6);
    Check("float", "2,4,6,10", "1.0, 1.2, 2.0, 2.0", mode, 2e-6);
    Check("float", "2,4,6,10", "1.3, 1.0, 2.0, 2.0", mode, 2e-6);
  }
}

TEST_F(ResizeCodeTest, CropsBeyondTheImage) {
  for (const char* mode : {"linear", "nearest"}) {
    for (const int columns : {11, 16}) {  // 16: whole vectors
      for (const auto& [type, tolerance] : {std::pair{"float", 2e-6}, {"float16", 4e-3}}) {
        CheckText(absl::Substitute(
                      "g ($0[2,4,7,9] x) => (y) <float[8] r = {0.0, 0.0, -0.3, 0.2, 1.0, 1.0, "
                      "0.8, 1.4}, int64[4] n = {2, 4, 12, $1}> { y = Resize<mode = \"$2\", "
                      "coordinate_transformation_mode = \"tf_crop_and_resize\", "
                      "extrapolation_value = -7.5>(x, r, , n) }",
                      type, columns, mode),
                  tolerance);
      }
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
