// Sessions of models with outputs whose shapes depend on data within a bound.
#include <string>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/support/expect_error.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

class BoundedSegmentsTest : public SessionOnDevices {
 protected:
  // Of the last Run.
  void ExpectStats(int64_t programs, int64_t sizes, int64_t between = 0) {
    const SessionStats stats = session().stats();
    EXPECT_EQ(stats.segments, programs);
    EXPECT_EQ(stats.size_reads, sizes);
    EXPECT_EQ(stats.nodes_between, between);
  }
};

TEST_P(BoundedSegmentsTest, IndicesAreComputedByAProgram) {
  Load(R"(
      g (float[H,W] x) => (float[N] y, int64[2,N] at) {
        z = Relu(x)
        at = NonZero(z)
        rows = Transpose<perm = [1, 0]>(at)
        y = GatherND(z, rows) })");
  auto outputs = Run({TensorOf<float>({2, 3}, {1, -1, 0, 0, 5, 7})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {3}, {1, 5, 7});
  ExpectTensor<int64_t>(outputs[1], {2, 3}, {0, 1, 1, 0, 1, 2});
  ExpectStats(/*programs=*/2, /*sizes=*/1);
  outputs = Run({TensorOf<float>({2, 3}, {-1, -1, 0, 0, 0, -2})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {0}, {});
  ExpectTensor<int64_t>(outputs[1], {2, 0}, {});
  const int64_t built = session().stats().programs_built;
  outputs = Run({TensorOf<float>({2, 3}, {2, 0, 0, 3, 0, 4})});  // three again
  ExpectTensor<float>(outputs[0], {3}, {2, 3, 4});
  EXPECT_EQ(session().stats().programs_built, built);
}

// More indices than the host reads as sizes, so that they stay on the device.
TEST_P(BoundedSegmentsTest, ManyIndicesStayOnTheDevice) {
  Load(R"(
      g (float[N] x) => (float[M] y, int64[1,M] at) <int64[1] first = {0}> {
        at = NonZero(x)
        row = Squeeze(at, first)
        y = Gather(x, row) })");
  Floats x(3000, 0), expected;
  Ints at;
  for (int64_t i = 0; i < 3000; i += 7) {
    x[i] = static_cast<float>(i + 1);
    expected.push_back(x[i]);
    at.push_back(i);
  }
  const auto outputs = Run({TensorOf<float>({3000}, x)});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {429}, expected);
  ExpectTensor<int64_t>(outputs[1], {1, 429}, at);
  ExpectStats(/*programs=*/2, /*sizes=*/1);
}

TEST_P(BoundedSegmentsTest, SuppressedBoxesAreGathered) {
  Load(R"(
      g (float[1,N,4] boxes, float[1,C,N] scores) => (int64[M,3] picked, float[M,4] kept)
      <int64 most = {9223372036854775807}, float limit = {0.3}, int64[1] first = {0},
       int64 column = {2}> {
        picked = NonMaxSuppression(boxes, scores, most, limit)
        index = Gather<axis = 1>(picked, column)
        flat = Squeeze(boxes, first)
        kept = Gather(flat, index) })");
  // Boxes 0 and 1 overlap by a third of their union.
  const Tensor boxes = TensorOf<float>({1, 3, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 5, 5, 6, 6});
  auto outputs = Run({boxes, TensorOf<float>({1, 2, 3}, {0.5, 0.9, 0.2, 0.8, 0.1, 0.9})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<int64_t>(outputs[0], {4, 3}, {0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0});
  ExpectTensor<float>(outputs[1], {4, 4}, {0, 1, 1, 3, 5, 5, 6, 6, 5, 5, 6, 6, 0, 0, 1, 2});
  ExpectStats(/*programs=*/2, /*sizes=*/1);
}

TEST_P(BoundedSegmentsTest, WhatIsKeptIsCompressedAgain) {
  Load(R"(
      g (float[N,2] x, float limit) => (float[K,2] y, int64[1,L] at) <int64[1] one = {1}> {
        sums = ReduceSum<keepdims = 0>(x, one)
        keeps = Greater(sums, limit)
        y = Compress<axis = 0>(x, keeps)
        rest = ReduceSum<keepdims = 0>(y, one)
        at = NonZero(rest) })");
  const auto outputs =
      Run({TensorOf<float>({4, 2}, {1, 2, -3, 3, -1, -1, 4, 5}), TensorOf<float>({}, {-1})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {3, 2}, {1, 2, -3, 3, 4, 5});
  ExpectTensor<int64_t>(outputs[1], {1, 2}, {0, 2});
  ExpectStats(/*programs=*/2, /*sizes=*/2);
}

TEST_P(BoundedSegmentsTest, DistinctElementsAreComputedByAProgram) {
  Load(R"(
      g (float[N] x) => (float[K] y, int64[K] at, int64[N] inverse, int64[K] counts) {
        z = Relu(x)
        y, at, inverse, counts = Unique<sorted = 0>(z) })");
  for (int run = 0; run < 3; ++run) {
    const auto outputs = Run({TensorOf<float>({6}, {5, -1, 2, 5, 0, 2})});
    ASSERT_EQ(outputs.size(), 4u);
    ExpectTensor<float>(outputs[0], {3}, {5, 0, 2});
    ExpectTensor<int64_t>(outputs[1], {3}, {0, 1, 2});
    ExpectTensor<int64_t>(outputs[2], {6}, {0, 1, 2, 0, 1, 2});
    ExpectTensor<int64_t>(outputs[3], {3}, {2, 2, 2});
  }
  ExpectStats(/*programs=*/1, /*sizes=*/1);
  EXPECT_EQ(session().stats().programs_built, 1);
}

TEST_P(BoundedSegmentsTest, DistinctRowsAreReadByTheNextProgram) {
  Load(R"(
      g (int32[N,2] x) => (int32[K,2] y) {
        rows = Unique<axis = 0>(x)
        y = Neg(rows) })");
  const auto outputs = Run({TensorOf<int32_t>({3, 2}, {4, 1, 3, 9, 4, 1})});
  ASSERT_EQ(outputs.size(), 1u);
  ExpectTensor<int32_t>(outputs[0], {2, 2}, {-3, -9, -4, -1});
  ExpectStats(/*programs=*/2, /*sizes=*/1);
}

TEST_P(BoundedSegmentsTest, ProgramsAroundIndicesAreCapturedOnce) {
  Load(R"(
      g (float[H,W] x) => (float[N] y) {
        z = Relu(x)
        at = NonZero(z)
        rows = Transpose<perm = [1, 0]>(at)
        y = GatherND(z, rows) })");
  ExpectCapturedOnce({TensorOf<float>({2, 3}, {1, -1, 0, 0, 5, 7})}, /*programs=*/2);
}

TEST_P(BoundedSegmentsTest, ProgramsAroundSuppressedBoxesAreCapturedOnce) {
  Load(R"(
      g (float[1,N,4] boxes, float[1,1,N] scores) => (float[M,4] kept)
      <int64 most = {9}, float limit = {0.3}, int64[1] first = {0}, int64 column = {2}> {
        picked = NonMaxSuppression(boxes, scores, most, limit)
        index = Gather<axis = 1>(picked, column)
        flat = Squeeze(boxes, first)
        kept = Gather(flat, index) })");
  ExpectCapturedOnce({TensorOf<float>({1, 3, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 5, 5, 6, 6}),
                      TensorOf<float>({1, 1, 3}, {0.5, 0.9, 0.2})},
                     /*programs=*/2);
}

// The shape of y is known at once, its elements depend on the number of indices.
TEST_P(BoundedSegmentsTest, IndicesOfWhatIsComputedLater) {
  Load(R"(
      g (float[N] x) => (int64[1,M] at) {
        first = NonZero(x)
        dims = Shape(first)
        count = ReduceMax<keepdims = 0>(dims)
        number = Cast<to = 1>(count)
        y = Sub(x, number)
        at = NonZero(y) })");
  const auto outputs = Run({TensorOf<float>({4}, {0, 3, 5, 3})});
  ASSERT_EQ(outputs.size(), 1u);
  ExpectTensor<int64_t>(outputs[0], {1, 2}, {0, 2});
  ExpectStats(/*programs=*/2, /*sizes=*/2);
}

TEST_P(BoundedSegmentsTest, NoElementsGiveNone) {
  Load(R"(
      g (float[H,W] x, bool[L] c) => (int64[2,N] at, float[H,K] y) {
        at = NonZero(x)
        y = Compress<axis = 1>(x, c) })");
  auto outputs = Run({TensorOf<float>({2, 0}, {}), TensorOf<bool>({1}, {false})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<int64_t>(outputs[0], {2, 0}, {});
  ExpectTensor<float>(outputs[1], {2, 0}, {});
  outputs = Run({TensorOf<float>({0, 3}, {}), TensorOf<bool>({3}, {true, false, true})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<int64_t>(outputs[0], {2, 0}, {});
  ExpectTensor<float>(outputs[1], {0, 2}, {});
  ExpectStats(/*programs=*/1, /*sizes=*/2);
}

TEST_P(BoundedSegmentsTest, SaysWhatACompressCannotKeep) {
  Load("g (float[2] x, bool[3] c) => (float[N] y) { y = Compress(x, c) }");
  const Tensor x = TensorOf<float>({2}, {1, 2});
  ExpectTensor<float>(Run({x, TensorOf<bool>({3}, {false, true, false})})[0], {1}, {2});
  ExpectStats(/*programs=*/1, /*sizes=*/1);
  ExpectError(session().RunValues({x, TensorOf<bool>({3}, {true, true, true})}),
              ErrorCode::kInvalidArgument,
              "condition is true at 2, outside extent 2 of the flattened input");
}

TEST_P(BoundedSegmentsTest, WithoutABoundTheHostRunsIt) {
  Load(R"(
      g (float[1,N,4] boxes, float[1,C,N] scores, int64 most) => (int64[M,3] picked) {
        all = Add(most, most)
        picked = NonMaxSuppression(boxes, scores, all) })");
  const Tensor boxes = TensorOf<float>({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3});
  const auto outputs =
      Run({boxes, TensorOf<float>({1, 1, 2}, {0.5, 0.9}), TensorOf<int64_t>({}, {1})});
  ExpectTensor<int64_t>(outputs[0], {2, 3}, {0, 0, 1, 0, 0, 0});
  ExpectStats(/*programs=*/1, /*sizes=*/0, /*between=*/1);
}

TEST_P(BoundedSegmentsTest, ABodyOfALoopComputesIndices) {
  Load(R"(
      g (float[N] x, float limit) => (float[N] y) <bool yes = {1}> {
        y = Loop(, yes, x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] t) {
          at = NonZero(s)
          dims = Shape(at)
          count = ReduceMax<keepdims = 0>(dims)
          added = Cast<to = 1>(count)
          t = Add(s, added)
          largest = ReduceMax<keepdims = 0>(t)
          on = Less(largest, limit) }> })");
  // One element is not zero, then three are.
  ExpectTensor<float>(Run({TensorOf<float>({3}, {0, 2, 0}), TensorOf<float>({}, {5})})[0], {3},
                      {4, 6, 4});
  EXPECT_EQ(session().stats().nodes_between, 1);  // the Loop
}

INSTANTIATE_TEST_SUITE_P(Devices, BoundedSegmentsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
