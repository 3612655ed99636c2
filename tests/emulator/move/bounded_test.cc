// Outputs whose shapes depend on data: NonZero, Compress, NonMaxSuppression and Unique over several
// blocks.
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/graph/infer.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/bounded_node.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// A number from 0 to `below` - 1 for each i, without a pattern that blocks share.
int64_t Mixed(int64_t i, int64_t below) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  return static_cast<int64_t>(x % static_cast<uint64_t>(below));
}

class BoundedKernelTest : public KernelsTest {
 protected:
  // Runs `c`, whose inputs from `first_constant` on are constants.
  void ExpectRuns(const OpCase& c, size_t first_constant) {
    Graph graph;
    NodeSpec spec{.op = c.op, .attrs = c.attrs};
    spec.outputs.resize(c.op == "Unique" ? 4 : 1, "*");
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const HostTensor& t = c.inputs[i];
      if (!t.defined()) {
        spec.inputs.push_back(nullptr);
      } else if (i >= first_constant) {
        spec.inputs.push_back(&graph.AddConstant(t));
      } else {
        spec.inputs.push_back(
            &graph.AddInput(absl::StrCat("x", i), Type::Tensor(t.dtype(), t.dims())));
        inputs.push_back(t);
      }
    }
    graph.AddNode(std::move(spec));
    ASSERT_TRUE(InferShapes(graph).ok());
    const Node* node = BoundOnlyNode(graph);
    ASSERT_NE(node, nullptr);
    const Proposed proposed = At(graph, *node);
    ASSERT_EQ(proposed.candidates.size(), 1u);
    const Candidate& candidate = proposed.candidates[0];
    const auto variants = engine_->Variants(candidate, target_);
    ASSERT_TRUE(variants.ok());
    ASSERT_EQ(variants->size(), 1u);
    const auto code = CompileVariant(candidate, variants->front(), target_);
    EXPECT_EQ(emulator::CompareWithReference(code, candidate, inputs, 0), "");
  }
  void ExpectIndices(const HostTensor& x) { ExpectRuns({"NonZero", {x}}, 1); }
};

TEST_F(BoundedKernelTest, IndicesOfSeveralBlocks) {
  HostTensor x = HostTensor::Allocate(DType::kU8, {3, 41, 97});  // 11,931: three blocks
  for (const int64_t one_of : {2, 1000, 1}) {
    for (int64_t i = 0; i < x.elements(); ++i) {
      x.mutable_data<uint8_t>()[i] = Mixed(i, one_of) == 0 ? 7 : 0;
    }
    ExpectIndices(x);
  }
  std::memset(x.mutable_raw(), 0, x.bytes());
  ExpectIndices(x);
}

TEST_F(BoundedKernelTest, TheSignOfAZeroDoesNotCount) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    ExpectIndices(TensorOf(dtype, {2, 3}, {-0.0, kNaN, 0, -kInf, 1, -1}));
  }
  // The lowest and the highest bit of each part.
  for (const DType dtype : {DType::kC64, DType::kC128}) {
    const int64_t half = BitsOf(dtype) / 16;
    HostTensor x = HostTensor::Allocate(dtype, {7});
    std::memset(x.mutable_raw(), 0, x.bytes());
    auto* bytes = static_cast<uint8_t*>(x.mutable_raw());
    bytes[1 * 2 * half] = 1;
    bytes[2 * 2 * half + half] = 1;
    bytes[3 * 2 * half + half - 1] = 0x80;
    bytes[4 * 2 * half + 2 * half - 1] = 0x80;
    bytes[5 * 2 * half + 2 * half - 1] = 0x40;
    ExpectIndices(x);
  }
}

TEST_F(BoundedKernelTest, KeepsIndicesOfSeveralBlocks) {
  HostTensor condition = HostTensor::Allocate(DType::kBool, {5000});
  for (const int64_t one_of : {2, 1, 6000}) {
    for (int64_t i = 0; i < 5000; ++i) {
      condition.mutable_data<uint8_t>()[i] = Mixed(i + 1, one_of) == 0 ? 1 : 0;
    }
    for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kI64, DType::kC128}) {
      HostTensor x = HostTensor::Allocate(dtype, {2, 5000, 3});
      auto* bytes = static_cast<uint8_t*>(x.mutable_raw());
      for (int64_t i = 0; i < x.bytes(); ++i) bytes[i] = static_cast<uint8_t>(Mixed(i, 256));
      ExpectRuns({"Compress", {x, condition}, {{"axis", int64_t{1}}}}, 2);
    }
  }
}

// More slices than a tile of the sort, and than a block of non_zero.
HostTensor Repeated(DType dtype, Dims dims, int64_t below) {
  std::vector<double> values(ElementsOf(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(Mixed(static_cast<int64_t>(i), below));
  }
  return TensorOf(dtype, dims, values);
}

TEST_F(BoundedKernelTest, DistinctElementsOfSeveralBlocks) {
  for (const int64_t is_sorted : {1, 0}) {
    const Attrs attrs = {{"sorted", is_sorted}};
    for (const int64_t below : {3, 120}) {
      for (const DType dtype : {DType::kI8, DType::kF16, DType::kU32, DType::kF64}) {
        ExpectRuns({"Unique", {Repeated(dtype, {9, 501}, below)}, attrs}, 1);
      }
    }
    ExpectRuns({"Unique", {Repeated(DType::kI64, {4509}, 1 << 20)}, attrs}, 1);
    ExpectRuns({"Unique", {Repeated(DType::kF32, {4509}, 1)}, attrs}, 1);
  }
}

// The last elements of equal beginnings decide.
TEST_F(BoundedKernelTest, DistinctSlicesOfSeveralBlocks) {
  for (const int64_t is_sorted : {1, 0}) {
    for (const DType dtype : {DType::kU8, DType::kBF16, DType::kI64}) {
      for (const int64_t axis : {0, 1}) {
        const Dims dims = axis == 0 ? Dims{2100, 3, 2} : Dims{2, 2100, 3};
        ExpectRuns({"Unique", {Repeated(dtype, dims, 3)}, {{"axis", axis}, {"sorted", is_sorted}}},
                   1);
      }
    }
  }
}

// Integers that no wider float tells apart, and both signs.
TEST_F(BoundedKernelTest, DistinctElementsAtTheEndsOfTheirTypes) {
  HostTensor x = HostTensor::Allocate(DType::kI64, {6});
  const int64_t largest = std::numeric_limits<int64_t>::max();
  const int64_t values[] = {largest, -1, largest - 1, -largest - 1, 0, largest};
  std::memcpy(x.mutable_raw(), values, sizeof(values));
  ExpectRuns({"Unique", {x}}, 1);
  HostTensor u = HostTensor::Allocate(DType::kU64, {6});
  std::memcpy(u.mutable_raw(), values, sizeof(values));
  ExpectRuns({"Unique", {u}}, 1);
  HostTensor b = HostTensor::Allocate(DType::kBool, {4});
  const uint8_t bytes[] = {2, 0, 1, 0};  // any byte but 0 is true
  std::memcpy(b.mutable_raw(), bytes, sizeof(bytes));
  ExpectRuns({"Unique", {b}}, 1);
  ExpectRuns({"Unique", {TensorOf(DType::kF32, {6}, {kNaN, 0, -0.0, -kNaN, kInf, -kInf})}}, 1);
}

// Boxes of a fifth of a square, and scores of which many are equal and some NaN.
OpCase Boxes(int64_t batches, int64_t classes, int64_t count, double most) {
  HostTensor boxes = HostTensor::Allocate(DType::kF32, {batches, count, 4});
  HostTensor scores = HostTensor::Allocate(DType::kF32, {batches, classes, count});
  for (int64_t i = 0; i < batches * count; ++i) {
    float* v = boxes.mutable_data<float>().data() + 4 * i;
    v[0] = static_cast<float>(Mixed(2 * i, 1000)) / 1000;
    v[1] = static_cast<float>(Mixed(2 * i + 1, 1000)) / 1000;
    v[2] = v[0] + (i % 2 == 0 ? 0.2F : -0.2F);
    v[3] = v[1] + 0.2F;
  }
  for (int64_t i = 0; i < scores.elements(); ++i) {
    const int64_t score = Mixed(i + 7, 211);
    scores.mutable_data<float>()[i] = score == 0 ? NAN : static_cast<float>(score - 50) / 100;
  }
  return {"NonMaxSuppression", {boxes, scores, I64({}, {most}), F32({}, {0.4}), HostTensor()}, {}};
}

TEST_F(BoundedKernelTest, SelectsFromSeveralGroupsOfBoxes) {
  OpCase c = Boxes(2, 3, 700, 60);
  ExpectRuns(c, 2);
  c.inputs[4] = F32({1}, {0.3});
  ExpectRuns(c, 2);
  c.attrs = {{"center_point_box", int64_t{1}}};
  ExpectRuns(c, 2);
}

TEST_F(BoundedKernelTest, SelectsMoreBoxesThanAGroupHas) {
  OpCase c = Boxes(1, 1, 900, 1e9);
  c.inputs[3] = F32({}, {0.9});
  ExpectRuns(c, 2);
  c.inputs[2] = I64({}, {300});
  ExpectRuns(c, 2);
}

}  // namespace
}  // namespace onnx_cudnn
