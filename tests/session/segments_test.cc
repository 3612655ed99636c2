// Sessions of models whose shapes, branches or iterations depend on data.
#include <string>
#include <thread>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/support/expect_error.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

class SegmentsTest : public SessionOnDevices {};

// The length of y is computed from elements of x.
constexpr std::string_view kRepeat = R"(
    g (float[1,N] x) => (float[1,M] y, float[1,N] z) <int64[1] row = {1}> {
      largest = ReduceMax<keepdims = 0>(x)
      count = Cast<to = 7>(largest)
      counts = Reshape(count, row)
      z = Relu(x)
      sum = ReduceSum(z)
      y = Expand(sum, counts) })";

TEST_P(SegmentsTest, AShapeIsComputedFromElements) {
  Load(kRepeat);
  auto outputs = Run({TensorOf<float>({1, 3}, {1, 4, -2})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {1, 4}, {5, 5, 5, 5});
  ExpectTensor<float>(outputs[1], {1, 3}, {1, 4, 0});
  outputs = Run({TensorOf<float>({1, 2}, {2, 1})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {1, 2}, {3, 3});
  const SessionStats stats = session().stats();
  EXPECT_EQ(stats.segments, 2);
  EXPECT_EQ(stats.size_reads, 1);
}

TEST_P(SegmentsTest, EqualShapesBuildNothing) {
  Load(kRepeat);
  Run({TensorOf<float>({1, 3}, {1, 4, -2})});
  const int64_t built = session().stats().programs_built;
  Run({TensorOf<float>({1, 3}, {3, 4, 1})});
  EXPECT_EQ(session().stats().programs_built, built);
  Run({TensorOf<float>({1, 3}, {3, 5, 1})});  // another length of y: its Program alone
  EXPECT_EQ(session().stats().programs_built, built + 1);
}

TEST_P(SegmentsTest, TheBuildOfEachProgramIsTimed) {
  Load(kRepeat);
  Run({TensorOf<float>({1, 3}, {1, 4, -2})});
  const std::vector<ProgramBuild> builds = session().stats().builds;
  ASSERT_EQ(builds.size(), 2u);
  EXPECT_EQ(builds[0].inputs, "x[1,3]");
  EXPECT_EQ(builds[1].inputs, "sum[1,1]");
  for (const ProgramBuild& build : builds) {
    EXPECT_GT(build.bind_ms, 0);
    EXPECT_GT(build.partition_ms, 0);
    EXPECT_LE(build.bind_ms + build.fold_ms + build.partition_ms + build.compile_ms + build.plan_ms,
              build.total_ms);
  }
}

TEST_P(SegmentsTest, InputsThatNeedSegmentsLeaveOthersOneProgram) {
  Load(R"(
      g (float[N] x, bool whole) => (y) {
        y = If(whole) < then_branch = t () => (u) { u = Relu(x) },
                        else_branch = e () => (v) { n = NonZero(x) v = Cast<to = 1>(n) }> })");
  const Tensor x = TensorOf<float>({3}, {-1, 0, 2});
  const auto run = [&](bool whole) { return Run({x, TensorOf<bool>({}, {whole})}); };
  ExpectTensor<float>(run(true)[0], {3}, {0, 0, 2});
  const int64_t built = session().stats().programs_built;
  ExpectTensor<float>(run(false)[0], {1, 2}, {0, 2});
  const int64_t with_segments = session().stats().programs_built;
  EXPECT_GT(with_segments, built);
  ExpectTensor<float>(run(true)[0], {3}, {0, 0, 2});
  ExpectTensor<float>(run(false)[0], {1, 2}, {0, 2});
  EXPECT_EQ(session().stats().programs_built, with_segments);
  EXPECT_GT(session().stats().segmented_ms, 0);
}

TEST_P(SegmentsTest, AfterFourSetsThatNeededSegmentsNoOtherIsTried) {
  for (const int tries : {3, 4}) {
    Load(R"(
        g (float[N] x, bool whole) => (y) {
          y = If(whole) < then_branch = t () => (u) { u = Relu(x) },
                          else_branch = e () => (v) { n = NonZero(x) v = Cast<to = 1>(n) }> })");
    for (int i = 1; i <= tries; ++i) {
      Run({TensorOf<float>({i}, Floats(i, 1)), TensorOf<bool>({}, {false})});
    }
    ExpectTensor<float>(Run({TensorOf<float>({2}, {-1, 2}), TensorOf<bool>({}, {true})})[0], {2},
                        {0, 2});
    const std::string last = session().stats().builds.back().inputs;
    EXPECT_EQ(last, tries == 3 ? "x[2], whole[]" : "x[2]");  // of the model, of a segment
  }
}

TEST_P(SegmentsTest, ThreadsRunAtOnce) {
  Load(kRepeat);
  std::vector<std::thread> threads;
  for (int64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      const Floats x = {static_cast<float>(t), 0.5F};
      for (int i = 0; i < 20; ++i) {
        auto outputs = session().Run({View(x.data(), {1, 2})});
        ASSERT_TRUE(outputs.ok()) << outputs.error().message;
        ASSERT_EQ(outputs.value()[0].shape(), (Ints{1, t}));
        EXPECT_EQ(outputs.value()[0].data<float>()[0], static_cast<float>(t) + 0.5F);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(SegmentsTest, WritesToTheCallersMemory) {
  Load(kRepeat);
  const Floats x = {2, 1};
  Floats y(2), z(2);
  const std::vector<NamedView> in = {View(x.data(), {1, 2})};
  ASSERT_TRUE(session().Run(in, {View(y.data(), {1, 2}), View(z.data(), {1, 2})}).ok());
  EXPECT_EQ(y, (Floats{3, 3}));
  EXPECT_EQ(z, x);
  ExpectError(session().Run(in, {View(y.data(), {1, 1}), View(z.data(), {1, 2})}),
              ErrorCode::kInvalidArgument,
              "output \"y\" is f32[1,2] in this run, expected f32[1,1]");
  auto binding = session().Bind(in, {View(y.data(), {1, 2}), View(z.data(), {1, 2})});
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  y.assign(2, 0);
  EXPECT_TRUE(binding.value().Run().ok());
  EXPECT_EQ(y, (Floats{3, 3}));
  EXPECT_EQ(binding.value().TimeRuns(3).value().size(), 3u);
}

TEST_P(SegmentsTest, TheTakenBranchGivesTheShape) {
  Load(R"(
      g (float[2,3] x) => (y) <float zero = {0}, int64[1] first = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        y = If(c) < then_branch = t () => (u) { u = ReduceSum<keepdims = 0>(x, first) },
                    else_branch = e () => (v) { v = Neg(x) }> })");
  ExpectTensor<float>(Run({TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6})})[0], {3}, {5, 7, 9});
  ExpectTensor<float>(Run({TensorOf<float>({2, 3}, {-1, 2, -3, 4, -5, -6})})[0], {2, 3},
                      {1, -2, 3, -4, 5, 6});
}

// Doubles the state while it is below a limit and collects what it was.
constexpr std::string_view kDouble = R"(
    g (float[2] x, float limit) => (float[2] last, float[K,2] all) <bool yes = {1}> {
      last, all = Loop(, yes, x) <body = b (int64 i, bool go, float[2] state)
        => (bool on, float[2] next, float[2] was) {
          was = Identity(state)
          next = Add(state, state)
          largest = ReduceMax<keepdims = 0>(next)
          on = Less(largest, limit) }> })";

TEST_P(SegmentsTest, ALoopEndsWhereItsConditionSays) {
  Load(kDouble);
  auto outputs = Run({TensorOf<float>({2}, {1, 3}), TensorOf<float>({}, {20})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {2}, {8, 24});
  ExpectTensor<float>(outputs[1], {3, 2}, {1, 3, 2, 6, 4, 12});
  const int64_t built = session().stats().programs_built;
  outputs = Run({TensorOf<float>({2}, {1, 1}), TensorOf<float>({}, {1000})});
  ExpectTensor<float>(outputs[0], {2}, {1024, 1024});
  EXPECT_EQ(session().stats().programs_built, built);  // the same body
}

TEST_P(SegmentsTest, OnlyAShapeThatDependsOnDataIsAsDeclared) {
  Load("g (float[H,W] x) => (int64[2,K] at, float[H,W] z) { at = NonZero(x) z = Relu(x) }");
  const Floats x(6, 1);
  auto infos = session().OutputsFor({View(x.data(), {2, 3})});
  ASSERT_TRUE(infos.ok()) << infos.error().message;
  EXPECT_LT(infos.value()[0].dims[1].value, 0);
  EXPECT_EQ(ToString(infos.value()[1]), "z f32[2,3]");
}

TEST_P(SegmentsTest, TheBodyOfALoopIsCapturedOnce) {
  Load(kDouble);
  ExpectCapturedOnce({TensorOf<float>({2}, {1, 3}), TensorOf<float>({}, {20})}, /*programs=*/1);
}

// More than sizes: iterations read it on the device.
TEST_P(SegmentsTest, IterationsReadALargeOuterValue) {
  Load(R"(
      g (float[N] x, float limit) => (float[N] y) <bool yes = {1}> {
        y = Loop(, yes, x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] t) {
          t = Add(s, x)
          largest = ReduceMax<keepdims = 0>(t)
          on = Less(largest, limit) }> })");
  const auto outputs = Run({TensorOf<float>({2000}, Floats(2000, 3)), TensorOf<float>({}, {10})});
  ASSERT_EQ(outputs.size(), 1u);
  ExpectTensor<float>(outputs[0], {2000}, Floats(2000, 12));
}

// The state grows, so that each iteration has other shapes.
TEST_P(SegmentsTest, AStateOfALoopGrows) {
  Load(R"(
      g (float[N] x, float limit) => (float[M] y, int64[K] sizes) <bool yes = {1}> {
        y, sizes = Loop(, yes, x) <body = b (int64 i, bool go, float[A] state)
          => (bool on, float[B] next, int64 size) {
            next = Concat<axis = 0>(state, x)
            dims = Shape(next)
            size = Squeeze(dims)
            sum = ReduceSum<keepdims = 0>(next)
            on = Less(sum, limit) }> })");
  const auto outputs = Run({TensorOf<float>({2}, {1, 2}), TensorOf<float>({}, {8})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {6}, {1, 2, 1, 2, 1, 2});
  ExpectTensor<int64_t>(outputs[1], {2}, {4, 6});
}

TEST_P(SegmentsTest, ALoopWithoutIterationsGivesAnEmptyStack) {
  Load(R"(
      g (int64 n, float[2] x) => (float[2] last, float[K,2] all) <bool no = {0}> {
        m = Neg(n)
        go = Less(n, m)
        last, all = Loop(, go, x) <body = b (int64 i, bool c, float[2] s)
          => (bool d, float[2] t, float[2] u) { d = Identity(c) t = Neg(s) u = Abs(s) }> })");
  const auto outputs = Run({TensorOf<int64_t>({}, {5}), TensorOf<float>({2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {2}, {1, 2});
  ExpectTensor<float>(outputs[1], {0, 2}, {});
}

TEST_P(SegmentsTest, LoopsNest) {
  Load(R"(
      g (float x, float limit) => (float y) <bool yes = {1}, float one = {1}, float three = {3}> {
        y = Loop(, yes, x) <body = outer (int64 i, bool c, float s) => (bool d, float t) {
          bound = Add(s, three)
          t = Loop(, yes, s) <body = inner (int64 j, bool e, float u) => (bool f, float v) {
            v = Add(u, one)
            f = Less(v, bound) }>
          d = Less(t, limit) }> })");
  // 0 → 3 → 6 → 9
  ExpectTensor<float>(Run({TensorOf<float>({}, {0}), TensorOf<float>({}, {7})})[0], {}, {9});
}

TEST_P(SegmentsTest, AScanRunsABodyOfComputedShapes) {
  Load(R"(
      g (float[N,3] x, float m) => (float[3] sum, float[3,N] kept) <int64[1] row = {1}> {
        c = Cast<to = 7>(m)
        counts = Reshape(c, row)
        start = Expand(m, counts)
        sum, kept = Scan(start, x) <num_scan_inputs = 1, scan_input_directions = [1],
          scan_output_axes = [1], scan_output_directions = [1],
          body = b (float[3] s, float[3] e) => (float[3] t, float[3] k) {
            t = Add(s, e) k = Identity(t) }> })");
  const auto outputs =
      Run({TensorOf<float>({2, 3}, {1, 2, 3, 10, 20, 30}), TensorOf<float>({}, {3})});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[0], {3}, {14, 25, 36});
  ExpectTensor<float>(outputs[1], {3, 2}, {14, 13, 25, 23, 36, 33});
}

TEST_P(SegmentsTest, SequencesAreInputsAndOutputs) {
  Load(R"(
      g (seq(float[N]) xs, float[M] x, int64 at) => (seq(float[N]) ys, float[L] all, int64 count) {
        ys = SequenceInsert(xs, x, at)
        all = ConcatFromSequence<axis = 0>(ys)
        count = SequenceLength(ys) })");
  EXPECT_EQ(session().inputs()[0].kind, ValueKind::kSequence);
  EXPECT_EQ(session().inputs()[0].elements[0].dtype, DType::kF32);
  const ModelValue xs =
      ModelValue::Sequence({TensorOf<float>({2}, {1, 2}), TensorOf<float>({1}, {3})});
  const auto outputs = Run({xs, TensorOf<float>({1}, {9}), TensorOf<int64_t>({}, {-1})});
  ASSERT_EQ(outputs.size(), 3u);
  ASSERT_EQ(outputs[0].elements().size(), 3u);
  ExpectTensor<float>(outputs[0].elements()[1], {1}, {9});
  ExpectTensor<float>(outputs[1], {4}, {1, 2, 9, 3});
  ExpectTensor<int64_t>(outputs[2], {}, {3});
  ExpectError(session().RunValues({xs, TensorOf<float>({1}, {9}), TensorOf<int64_t>({}, {5})}),
              ErrorCode::kInvalidArgument,
              "(SequenceInsert): position 5 is not in a sequence of 2 elements");
}

TEST_P(SegmentsTest, OptionalsAreInputs) {
  Load(R"(
      g (optional(float[2]) maybe) => (bool has, float[2] y) <float[2] zeros = {0, 0}> {
        has = OptionalHasElement(maybe)
        y = If(has) < then_branch = t () => (u) { e = OptionalGetElement(maybe) u = Neg(e) },
                      else_branch = f () => (v) { v = Identity(zeros) }> })");
  auto outputs = Run({ModelValue::Optional(TensorOf<float>({2}, {1, 2}))});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<float>(outputs[1], {2}, {-1, -2});
  ExpectTensor<float>(Run({TensorOf<float>({2}, {3, 4})})[1], {2}, {-3, -4});  // a held tensor
  ExpectTensor<float>(Run({ModelValue::Optional()})[1], {2}, {0, 0});
}

TEST_P(SegmentsTest, ASequenceMapRunsItsBodyPerElement) {
  Load(R"(
      g (seq(float[N]) xs, float one) => (seq(float[N]) ys) {
        ys = SequenceMap(xs, one) <body = b (float[N] e, float c) => (float[N] f) {
          f = Add(e, c) }> })");
  const auto outputs =
      Run({ModelValue::Sequence({TensorOf<float>({2}, {1, 2}), TensorOf<float>({1}, {3})}),
           TensorOf<float>({}, {1})});
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].elements().size(), 2u);
  ExpectTensor<float>(outputs[0].elements()[0], {2}, {2, 3});
  ExpectTensor<float>(outputs[0].elements()[1], {1}, {4});
}

TEST_P(SegmentsTest, OutputsDoNotShareTheCallersMemory) {
  Load("g (seq(float[2]) xs) => (seq(float[2]) ys) { ys = Identity(xs) }");
  const Tensor x = TensorOf<float>({2}, {1, 2});
  const auto outputs = Run({ModelValue::Sequence({x})});
  ASSERT_EQ(outputs.size(), 1u);
  x.data<float>()[0] = 7;
  ExpectTensor<float>(outputs[0].elements()[0], {2}, {1, 2});
}

TEST_P(SegmentsTest, StringsAreComputedBetweenPrograms) {
  Load(R"(
      g (float[N] x, string[2] names) => (string name) <int64 zero = {0}> {
        best = ArgMax<keepdims = 0>(x)
        name = Gather(names, best) })");
  const auto outputs =
      Run({TensorOf<float>({2}, {1, 4}), TensorOf<std::string>({2}, {"first", "second"})});
  ASSERT_EQ(outputs.size(), 1u);
  ExpectTensor<std::string>(outputs[0], {}, {"second"});
}

TEST_P(SegmentsTest, SaysThatItTakesValues) {
  Load("g (seq(float[2]) xs) => (float[L] y) { y = ConcatFromSequence<axis = 0>(xs) }");
  const Floats x = {1, 2};
  ExpectError(session().Run({View(x.data(), {2})}), ErrorCode::kInvalidArgument,
              "input \"xs\" is no tensor");
  ExpectError(session().RunValues({TensorOf<float>({2}, {1, 2})}), ErrorCode::kInvalidArgument,
              "input \"xs\": expected sequence(f32[2]), found a tensor");
}

INSTANTIATE_TEST_SUITE_P(Devices, SegmentsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
