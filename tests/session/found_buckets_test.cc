// Sessions whose found sizes are padded to buckets.
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/support/expect_error.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

const SessionOptions kFound = {.shape_buckets = {"found"}};

class FoundBucketsTest : public SessionOnDevices {
 protected:
  std::string note() const { return session().stats().bucket_note; }
};

// `count` numbers above 0 among `all`, at every other place; the others are -1.
Floats EveryOther(int64_t all, int64_t count) {
  Floats x(all, -1);
  for (int64_t i = 0; i < count; ++i) x[2 * i] = static_cast<float>(i + 1);
  return x;
}

// What follows a NonZero: rows gathered, scaled, summed.
constexpr std::string_view kRows = R"(
    g (float[N] x) => (int64[1,M] at, float[M] doubled, float[1] sum)
    <int64[1] first = {0}, float two = {2}> {
      z = Relu(x)
      at = NonZero(z)
      row = Squeeze(at, first)
      y = Gather(z, row)
      doubled = Mul(y, two)
      sum = ReduceSum(y, first) })";

void ExpectRows(const std::vector<ModelValue>& outputs, int64_t count) {
  ASSERT_EQ(outputs.size(), 3U);
  Ints at;
  Floats doubled;
  for (int64_t i = 0; i < count; ++i) {
    at.push_back(2 * i);
    doubled.push_back(static_cast<float>(2 * (i + 1)));
  }
  ExpectTensor<int64_t>(outputs[0], {1, count}, at);
  ExpectTensor<float>(outputs[1], {count}, doubled);
  ExpectTensor<float>(outputs[2], {1}, {static_cast<float>(count * (count + 1) / 2)});
}

TEST_P(FoundBucketsTest, OneProgramServesABucket) {
  Load(kRows, kFound);
  for (int64_t count = 2; count <= 50; ++count) {
    ExpectRows(Run({TensorOf<float>({100}, EveryOther(100, count))}), count);
  }
  // What finds them, and buckets of 16, 24, 32, 48 and 64.
  EXPECT_EQ(session().stats().programs_built, 6);
  EXPECT_EQ(session().stats().padded_runs, 49);
  EXPECT_EQ(note(), "");
}

TEST_P(FoundBucketsTest, WithoutTheOptionEachSizeHasAProgram) {
  Load(kRows);
  for (int64_t count = 2; count <= 6; ++count) {
    ExpectRows(Run({TensorOf<float>({100}, EveryOther(100, count))}), count);
  }
  EXPECT_EQ(session().stats().programs_built, 6);
  EXPECT_EQ(session().stats().padded_runs, 0);
}

TEST_P(FoundBucketsTest, NoneAndOneAreFound) {
  Load(kRows, kFound);
  for (const int64_t count : {0, 5, 1, 0, 1, 9}) {
    ExpectRows(Run({TensorOf<float>({20}, EveryOther(20, count))}), count);
  }
  EXPECT_EQ(session().stats().programs_built, 3);  // a size of 1 may broadcast, so it is exact
  EXPECT_EQ(session().stats().padded_runs, 4);
}

TEST_P(FoundBucketsTest, NoneAreFoundAmongNone) {
  Load(kRows, kFound);
  ExpectRows(Run({TensorOf<float>({0}, {})}), 0);
}

// Beyond every bucket that is built there is a further one; the least recently used makes room.
TEST_P(FoundBucketsTest, TheTableIsBounded) {
  SessionOptions options = kFound;
  options.max_programs = 2;
  Load(kRows, options);
  for (const int64_t count : {10, 20, 30, 500, 1000, 10}) {
    ExpectRows(Run({TensorOf<float>({2000}, EveryOther(2000, count))}), count);
  }
  EXPECT_LE(session().stats().programs_held, 4);  // two for each part of the model
  EXPECT_GE(session().stats().programs_built, 7);
  EXPECT_EQ(session().stats().padded_runs, 6);
}

// CumProd has no rule.
TEST_P(FoundBucketsTest, AReaderThatNeedsTheSizeGetsIt) {
  Load(R"(
      g (float[N] x) => (float[M] products, float[M] negated) <int64[1] first = {0}, int64 axis = {0}> {
        at = NonZero(x)
        row = Squeeze(at, first)
        y = Gather(x, row)
        negated = Neg(y)
        products = CumProd(y, axis) })",
       kFound);
  for (int64_t count = 2; count <= 4; ++count) {
    Floats x(10, 0), products, negated;
    for (int64_t i = 0; i < count; ++i) {
      products.push_back(static_cast<float>(i + 1) * (i == 0 ? 1 : products.back()));
      x[i + 3] = static_cast<float>(i + 1);
      negated.push_back(-static_cast<float>(i + 1));
    }
    const auto outputs = Run({TensorOf<float>({10}, x)});
    ASSERT_EQ(outputs.size(), 2U);
    ExpectTensor<float>(outputs[0], {count}, products);
    ExpectTensor<float>(outputs[1], {count}, negated);
  }
  // What finds them, what is padded, and CumProd for each size.
  EXPECT_EQ(session().stats().programs_built, 5);
  EXPECT_EQ(session().stats().padded_runs, 3);
  EXPECT_NE(note().find("(CumProd)"), std::string::npos) << note();
}

TEST_P(FoundBucketsTest, WithoutAnyNodeToPadSizesAreExact) {
  Load(R"(
      g (float[N] x) => (int64[M] sorted) <int64[1] last = {-1}> {
        at = NonZero(x)
        twice = Concat<axis = 0>(at, at)
        sorted = Reshape(twice, last) })",
       kFound);
  for (int64_t count = 2; count <= 3; ++count) {
    Ints expected(2 * count);
    std::iota(expected.begin(), expected.begin() + count, 0);
    std::iota(expected.begin() + count, expected.end(), 0);
    ExpectTensor<int64_t>(Run({TensorOf<float>({3}, {1, 1, count == 3 ? 1.0F : 0.0F})})[0],
                          {2 * count}, expected);
  }
  EXPECT_NE(note().find("(Reshape)"), std::string::npos) << note();
}

// As a detector: boxes that are kept, gathered; rows of several columns are cut to the count.
TEST_P(FoundBucketsTest, BoxesOfADetectorAreServedByAFewPrograms) {
  Load(R"(
      g (float[1,N,4] boxes, float[1,C,N] scores) => (float[M,4] kept, float[4,M] columns)
      <int64 most = {100}, float limit = {0.5}, float least = {0.1}, int64[1] first = {0},
       int64 column = {2}> {
        picked = NonMaxSuppression(boxes, scores, most, limit, least)
        index = Gather<axis = 1>(picked, column)
        flat = Squeeze(boxes, first)
        kept = Gather(flat, index)
        columns = Transpose<perm = [1, 0]>(kept) })",
       kFound);
  Floats boxes;
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<float>(2 * i);
    boxes.insert(boxes.end(), {at, 0, at + 1, 1});
  }
  for (int64_t count = 2; count <= 40; ++count) {
    Floats scores(40, 0);
    Floats kept, columns(4 * count);
    for (int64_t i = 0; i < count; ++i) {
      scores[i] = 1 - static_cast<float>(i) / 64;
      for (int64_t j = 0; j < 4; ++j) {
        kept.push_back(boxes[4 * i + j]);
        columns[j * count + i] = boxes[4 * i + j];
      }
    }
    const auto outputs =
        Run({TensorOf<float>({1, 40, 4}, boxes), TensorOf<float>({1, 1, 40}, scores)});
    ASSERT_EQ(outputs.size(), 2U);
    ExpectTensor<float>(outputs[0], {count, 4}, kept);
    ExpectTensor<float>(outputs[1], {4, count}, columns);
  }
  EXPECT_EQ(session().stats().programs_built, 5);  // the first, 16, 24, 32, 48
  EXPECT_EQ(session().stats().padded_runs, 39);
}

// Boxes above a score, of which the best are selected: two sizes, one behind the other.
constexpr std::string_view kTwoStages = R"(
    g (float[N,4] boxes, float[N] scores, bool[N] likely) => (float[M,4] kept, int64[1,K] far)
    <int64 most = {9223372036854775807}, float limit = {0.5}, int64[1] first = {0},
     int64[2] two = {0, 1}, int64 column = {2}> {
      b = Compress<axis = 0>(boxes, likely)
      s = Compress(scores, likely)
      b3 = Unsqueeze(b, first)
      s3 = Unsqueeze(s, two)
      picked = NonMaxSuppression(b3, s3, most, limit)
      index = Gather<axis = 1>(picked, column)
      kept = Gather(b, index)
      far = NonZero(index) })";

// Pairs of equal boxes.
Floats Pairs(int64_t boxes) {
  Floats coordinates;
  for (int64_t i = 0; i < boxes; ++i) {
    const auto at = static_cast<float>(i - i % 2);
    coordinates.insert(coordinates.end(), {at, 0, at + 1, 1});
  }
  return coordinates;
}

TEST_P(FoundBucketsTest, ASizeBehindAPaddedOne) {
  Load(kTwoStages, kFound);
  const Floats boxes = Pairs(40);
  Floats scores;
  for (int i = 0; i < 40; ++i) scores.push_back(1 - static_cast<float>(i) / 64);
  for (int64_t count = 3; count <= 40; ++count) {
    Tensor likely = Tensor::Allocate(DType::kBool, {40}).value();
    for (int64_t i = 0; i < 40; ++i) likely.data<bool>()[i] = i < count;
    const int64_t pairs = (count + 1) / 2;
    Floats kept;
    Ints far;
    for (int64_t i = 0; i < pairs; ++i) {
      kept.insert(kept.end(), {static_cast<float>(2 * i), 0, static_cast<float>(2 * i + 1), 1});
      if (i > 0) far.push_back(i);
    }
    const auto outputs =
        Run({TensorOf<float>({40, 4}, boxes), TensorOf<float>({40}, scores), likely});
    ASSERT_EQ(outputs.size(), 2U);
    ExpectTensor<float>(outputs[0], {pairs, 4}, kept);
    ExpectTensor<int64_t>(outputs[1], {1, pairs - 1}, far);
  }
  // What finds the likely ones; for 16, 24, 32 and 48 of these what selects, and what gathers. Of
  // 3 and 2 one is 1 more than the other, as keys and past, so that their buckets are 17 and 16.
  EXPECT_EQ(session().stats().programs_built, 10);
  EXPECT_EQ(note(), "");
}

// Without a threshold boxes of every score are selected, and padding is not.
TEST_P(FoundBucketsTest, PaddingHasNoScore) {
  Load(kTwoStages, kFound);
  const float infinity = std::numeric_limits<float>::infinity();
  Tensor likely = TensorOf<bool>({5}, {true, true, false, true, true});
  const auto outputs =
      Run({TensorOf<float>({5, 4}, {0, 0, 1, 1, 2, 0, 3, 1, 4, 0, 5, 1, 6, 0, 7, 1, 8, 0, 9, 1}),
           TensorOf<float>({5}, {-infinity, std::nanf(""), 1, 0.5, -3}), likely});
  ASSERT_EQ(outputs.size(), 2U);
  ExpectTensor<float>(outputs[0], {4, 4}, {6, 0, 7, 1, 8, 0, 9, 1, 0, 0, 1, 1, 2, 0, 3, 1});
  EXPECT_EQ(session().stats().padded_runs, 2);
}

// What is kept of a matrix has padding that is not behind all elements, and is not zero here.
TEST_P(FoundBucketsTest, NothingIsFoundInPaddedRows) {
  Load(R"(
      g (float[2,N] x, bool[N] keeps) => (int64[2,M] at, float[K] few, float[2,L] columns)
      <float four = {4}, int64 zero = {0}> {
        y = Compress<axis = 1>(x, keeps)
        z = Sub(y, four)
        at = NonZero(z)
        row = Gather<axis = 0>(z, zero)
        low = LessOrEqual(row, four)
        few = Compress(row, low)
        columns = Compress<axis = 1>(z, low) })",
       kFound);
  const Tensor x = TensorOf<float>({2, 4}, {1, 2, 9, 4, 5, 6, 7, 0});
  const auto outputs = Run({x, TensorOf<bool>({4}, {true, false, true, true})});
  ASSERT_EQ(outputs.size(), 3U);
  ExpectTensor<int64_t>(outputs[0], {2, 5}, {0, 0, 1, 1, 1, 0, 1, 0, 1, 2});
  ExpectTensor<float>(outputs[1], {2}, {-3, 0});
  ExpectTensor<float>(outputs[2], {2, 2}, {-3, 0, 1, -4});
  EXPECT_EQ(session().stats().padded_runs, 1);
}

// A branch takes the exact size; what is beside it is padded.
TEST_P(FoundBucketsTest, ABranchOverFoundElements) {
  Load(R"(
      g (float[N] x, float limit) => (float[K] y, float[M] doubled)
      <int64[1] first = {0}, float two = {2}> {
        at = NonZero(x)
        row = Squeeze(at, first)
        v = Gather(x, row)
        doubled = Mul(v, two)
        sum = ReduceSum<keepdims = 0>(v)
        above = Greater(sum, limit)
        y = If(above) <then_branch = t () => (float[A] a) { a = Neg(v) },
                       else_branch = e () => (float[B] b) { b = Concat<axis = 0>(v, v) }> })",
       kFound);
  const Tensor x = TensorOf<float>({4}, {1, 0, 3, 4});
  auto outputs = Run({x, TensorOf<float>({}, {5})});
  ASSERT_EQ(outputs.size(), 2U);
  ExpectTensor<float>(outputs[0], {3}, {-1, -3, -4});
  ExpectTensor<float>(outputs[1], {3}, {2, 6, 8});
  outputs = Run({x, TensorOf<float>({}, {10})});
  ASSERT_EQ(outputs.size(), 2U);
  ExpectTensor<float>(outputs[0], {6}, {1, 3, 4, 1, 3, 4});
  EXPECT_EQ(session().stats().padded_runs, 2);
  EXPECT_EQ(note(), "");
}

// Extents that a Run finds and the model needs to be equal have one length.
TEST_P(FoundBucketsTest, SizesThatAreEqual) {
  Load(R"(
      g (float[N] x, float[N] y) => (float[M] sum) <int64[1] last = {-1}> {
        a = NonZero(x)
        b = NonZero(y)
        p = Cast<to = 1>(a)
        q = Cast<to = 1>(b)
        both = Add(p, q)
        sum = Squeeze(both) })",
       kFound);
  auto outputs = Run({TensorOf<float>({4}, {1, 1, 0, 0}), TensorOf<float>({4}, {0, 1, 1, 0})});
  ExpectTensor<float>(outputs[0], {2}, {1, 3});
  outputs = Run({TensorOf<float>({4}, {1, 1, 1, 0}), TensorOf<float>({4}, {0, 1, 1, 1})});
  ExpectTensor<float>(outputs[0], {3}, {1, 3, 5});
  EXPECT_FALSE(
      session()
          .RunValues({TensorOf<float>({4}, {1, 1, 1, 0}), TensorOf<float>({4}, {0, 1, 1, 0})})
          .ok());
  outputs = Run({TensorOf<float>({4}, {1, 0, 0, 0}), TensorOf<float>({4}, {0, 1, 1, 0})});
  ExpectTensor<float>(outputs[0], {2}, {1, 2});  // one broadcasts
}

TEST_P(FoundBucketsTest, NamesThatNoInputHasAreErrors) {
  constexpr std::string_view kText = "g (float[B,N] x) => (float[B,N] y) { y = Relu(x) }";
  const auto unknown = Make(kText, {.shape_buckets = {"N", "M"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().message(),
            "option shape_buckets: no input has a dim \"M\": expected all, found or one of the "
            "dims of inputs: B, N");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Make(kText, {.shape_buckets = {"N", "B", "found", "all"}}).ok());
  const auto none =
      Make("g (float[2] x) => (float[2] y) { y = Relu(x) }", {.shape_buckets = {"N"}});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("they have no symbolic ones"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, FoundBucketsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
