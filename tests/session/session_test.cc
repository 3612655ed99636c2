#include "onnx_cudnn/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "tests/session/shifted_relu.h"

namespace onnx_cudnn {
namespace {

TEST(SessionTest, DescribesInputsAndOutputsWithSymbols) {
  const Session session = LoadText(kShiftedRelu);
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(ToString(session.inputs()[0]), "x f32[N,4]");
  EXPECT_EQ(session.inputs()[0].dims[0].symbol, "N");
  EXPECT_EQ(session.inputs()[0].dims[1].value, 4);
  EXPECT_EQ(ToString(session.outputs()[0]), "y f32[N,4]");
}

TEST(SessionTest, ReportsWhyAutoChoseTheCpuDevice) {
  const Session session = LoadText(kShiftedRelu, {.device = DeviceChoice::kAuto});
  if (session.device() != "cpu") GTEST_SKIP() << "this host has a GPU";
  EXPECT_NE(session.device_note(), "");
  EXPECT_FALSE(absl::StrContains(session.device_note(), "no usable GPU"));  // "cpu" says so
  EXPECT_EQ(LoadText(kShiftedRelu, {.device = DeviceChoice::kCpu}).device_note(), "");
}

TEST(SessionTest, CudaIsAPreconditionThatThisBuildLacks) {
  const std::string bytes = ModelBytesFromText(kShiftedRelu).value();
  ExpectError(Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda}),
              ErrorCode::kFailedPrecondition, "no usable GPU");
}

TEST(SessionTest, RunsByPositionAndByName) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(2, 3);
  EXPECT_EQ(Values(session.Run({View(x.data(), {2, 4})}).value()[0]), ShiftedRows(2, 3));
  EXPECT_EQ(Values(session.Run({{"x", View(x.data(), {2, 4})}}).value()[0]), ShiftedRows(2, 3));
}

TEST(SessionTest, MatchesNamesInAnyOrder) {
  const Session session = LoadText("g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }");
  const std::array<float, 2> a = {5, 7}, b = {1, 2};
  auto outputs = session.Run({{"b", View(b.data(), {2})}, {"a", View(a.data(), {2})}});
  EXPECT_EQ(Values(outputs.value()[0]), (std::vector<float>{4, 5}));
}

TEST(SessionTest, ServesThreadsWithDifferentBatchesAtOnce) {
  const Session session =
      LoadText(kShiftedRelu, {.max_programs = 2, .max_executors_per_program = 1});
  std::vector<std::thread> threads;
  std::array<int, 4> wrong = {};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int64_t n = 1 + (t + i) % 3;
        const auto base = static_cast<float>(t + 2);
        const std::vector<float> x = Rows(n, base);
        auto outputs = session.Run({View(x.data(), {n, 4})});
        if (!outputs.ok() || Values(outputs.value()[0]) != ShiftedRows(n, base)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST(SessionTest, WritesIntoTheCallersBuffers) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(3, 5);
  std::vector<float> y(12, -1);
  ASSERT_TRUE(session.Run({View(x.data(), {3, 4})}, {View(y.data(), {3, 4})}).ok());
  EXPECT_EQ(y, ShiftedRows(3, 5));
}

TEST(SessionTest, ReturnsTheOutputsForAShape) {
  const Session session = LoadText(kShiftedRelu);
  const TensorView shape_only = {.dtype = DType::kF32, .shape = {7, 4}};
  auto outputs = session.OutputsFor({shape_only});
  EXPECT_EQ(ToString(outputs.value()[0]), "y f32[7,4]");
}

TEST(SessionTest, RunsOverNoElements) {
  const Session session = LoadText(kShiftedRelu);
  const TensorView empty = {.dtype = DType::kF32, .shape = {0, 4}};
  auto outputs = session.Run({empty});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs.value()[0].shape(), (std::vector<int64_t>{0, 4}));
}

TEST(SessionTest, DropsTheProgramLeastRecentlyUsed) {
  const Session session = LoadText(kShiftedRelu, {.max_programs = 2});
  const auto run = [&](int64_t n) {
    const std::vector<float> x = Rows(n, 1);
    ASSERT_TRUE(session.Run({View(x.data(), {n, 4})}).ok());
  };
  run(1);
  run(2);
  run(1);
  run(3);  // drops 2
  EXPECT_EQ(session.stats().programs_built, 3);
  EXPECT_EQ(session.stats().programs_held, 2);
  run(1);
  EXPECT_EQ(session.stats().programs_built, 3);
  run(2);
  EXPECT_EQ(session.stats().programs_built, 4);
}

TEST(SessionTest, ReadsInputsThatDecideShapes) {
  const Session session =
      LoadText("g (float[6] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }");
  const std::array<float, 6> x = {1, 2, 3, 4, 5, 6};
  std::array<int64_t, 2> shape = {2, 3};
  const auto run = [&] { return session.Run({View(x.data(), {6}), View(shape.data(), {2})}); };
  EXPECT_EQ(run().value()[0].shape(), (std::vector<int64_t>{2, 3}));
  shape = {3, -1};
  EXPECT_EQ(run().value()[0].shape(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(session.stats().programs_built, 2);
  shape = {2, 3};
  EXPECT_EQ(run().value()[0].shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(session.stats().programs_built, 2);
}

// 2049 needs 12 bits: f16 holds 11, bf16 8.
constexpr std::string_view kProduct =
    "g (float[1,1] x) => (float[1,1] y) <float[1,1] w = {1}> { y = MatMul(x, w) }";

float ProductAt(PrecisionChoice precision, float x) {
  const Session session = LoadText(kProduct, {.precision = precision});
  return Values(session.Run({View(&x, {1, 1})}).value()[0])[0];
}

constexpr std::string_view kWords = R"(
    g (string[N] x) => (string[M] y, string[N] same, bool[N] is_a) <string a = {"a"}> {
      y = StringNormalizer<case_change_action = "UPPER", stopwords = ["the"]>(x)
      same = Identity(x)
      is_a = Equal(x, a)
    })";

TEST(SessionTest, RunsStringsWithADataDependentNumber) {
  for (const char* target : {"cpu", "h200"}) {
    const Session session = LoadText(kWords, {.target = target});
    const Strings words = {"The", "a", "b"}, few = {"the"};
    const std::vector<Tensor> outputs = session.Run({View(words.data(), {3})}).value();
    EXPECT_EQ(StringsIn(outputs[0]), (Strings{"A", "B"}));
    EXPECT_EQ(StringsIn(outputs[1]), words);
    EXPECT_FALSE(outputs[2].data<bool>()[0]);
    EXPECT_TRUE(outputs[2].data<bool>()[1]);
    EXPECT_EQ(StringsIn(session.Run({View(few.data(), {1})}).value()[0]), (Strings{""}));
    EXPECT_EQ(session.stats().programs_built, 2);
  }
}

TEST(SessionTest, WritesStringsIntoTheCallersObjects) {
  const Session session =
      LoadText("g (string[2] x) => (string[4] y) { y = Concat<axis = 0>(x, x) }");
  Strings words = {"a", "b"}, out(4, "old");
  const TensorView x = View(words.data(), {2});
  ASSERT_TRUE(session.Run({x}, {View(out.data(), {4})}, {}).ok());
  EXPECT_EQ(out, (Strings{"a", "b", "a", "b"}));
  ExpectError(session.Run({x}, {View(words.data(), {4})}, {}), ErrorCode::kInvalidArgument,
              "output 0 overlaps input 0");
}

TEST(SessionTest, RefusesStringsItCannotRead) {
  const Session session = LoadText(kWords);
  ExpectError(session.Run({View<std::string>(nullptr, {2})}), ErrorCode::kInvalidArgument,
              "input 0: expected 64 bytes, found a null pointer");
  ExpectError(session.Run({View<std::string>(nullptr, {int64_t{1} << 60})}),
              ErrorCode::kInvalidArgument, "hold more elements than memory can");
}

TEST(SessionTest, RunsLargeStrings) {
  const Session session = LoadText(kWords);
  const Strings large = {std::string(1 << 20, 'x')};
  const auto outputs = session.Run({View(large.data(), {1})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
}

TEST(SessionTest, RunsStringsThatAreComputedFromNumbers) {
  const Session session = LoadText(R"(
      g (bool[2] c, string[2] x, string[2] z) => (string[2] y) { y = Where(c, x, z) })");
  const Strings x = {"a", "b"}, z = {"c", "d"};
  const std::array<bool, 2> c = {true, false};
  const auto outputs = session.Run({View(c.data(), {2}), View(x.data(), {2}), View(z.data(), {2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const Tensor y = Result<std::vector<Tensor>>(outputs).value()[0];
  EXPECT_EQ(Strings(y.data<std::string>(), y.data<std::string>() + 2), (Strings{"a", "d"}));
}

TEST(SessionTest, RoundsProductsAccordingToPrecision) {
  EXPECT_EQ(ProductAt(PrecisionChoice::kStrict, 2049), 2049);
  EXPECT_EQ(ProductAt(PrecisionChoice::kFp16, 2049), 2048);
  EXPECT_EQ(ProductAt(PrecisionChoice::kBf16, 2049), 2048);
  EXPECT_EQ(ProductAt(PrecisionChoice::kFp16, 2052), 2052);
  EXPECT_EQ(ProductAt(PrecisionChoice::kBf16, 2052), 2048);
}

TEST(SessionTest, DecomposesWhatHasOnlyAFunction) {  // -log(softmax) of the target's class
  const Session session =
      LoadText("g (float[1,2] x, int64[1] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }");
  const std::array<float, 2> x = {3, 3};
  const int64_t target = 1;
  const auto outputs = session.Run({View(x.data(), {1, 2}), View(&target, {1})}).value();
  EXPECT_NEAR(Values(outputs[0])[0], std::log(2.0f), 1e-6f);
}

TEST(SessionTest, NamesFoundAndExpectedShapes) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(2, 0);
  ExpectError(session.Run({View(x.data(), {1, 8})}), ErrorCode::kInvalidArgument,
              "input \"x\": expected f32[N,4], found f32[1,8]");
  ExpectError(session.Run({View(x.data(), {8})}), ErrorCode::kInvalidArgument, "found f32[8]");
}

TEST(SessionTest, RefusesAnotherDType) {
  const Session session = LoadText(kShiftedRelu);
  const std::array<int32_t, 4> x = {};
  ExpectError(session.Run({View(x.data(), {1, 4})}), ErrorCode::kInvalidArgument,
              "expected f32[N,4], found i32[1,4]");
}

TEST(SessionTest, RefusesStrides) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(2, 0);
  TensorView view = View(x.data(), {2, 4});
  view.strides = {1, 2};
  ExpectError(session.Run({view}), ErrorCode::kInvalidArgument, "expected row-major elements");
  view.strides = {4, 1};
  EXPECT_TRUE(session.Run({view}).ok());
}

TEST(SessionTest, RefusesWrongArguments) {
  const Session session = LoadText("g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }");
  const std::array<float, 2> x = {5, 7};
  const TensorView view = View(x.data(), {2});
  ExpectError(session.Run({view}), ErrorCode::kInvalidArgument,
              "expected 2 inputs (a, b), found 1");
  ExpectError(session.Run({{"a", view}, {"c", view}}), ErrorCode::kInvalidArgument,
              "unknown input \"c\"");
  ExpectError(session.Run({{"a", view}, {"a", view}}), ErrorCode::kInvalidArgument, "given twice");
  ExpectError(session.Run({{"a", view}, view}), ErrorCode::kInvalidArgument, "found both");
  const TensorView null = {.dtype = DType::kF32, .shape = {2}};
  ExpectError(session.Run({view, null}), ErrorCode::kInvalidArgument, "null pointer");
}

TEST(SessionTest, RefusesOutputsThatOverlap) {
  const Session session = LoadText(kShiftedRelu);
  std::vector<float> x = Rows(2, 0);
  ExpectError(session.Run({View(x.data(), {1, 4})}, {View(x.data() + 3, {1, 4})}),
              ErrorCode::kInvalidArgument, "overlaps input 0");
}

TEST(SessionTest, RefusesOptionsOutOfRange) {
  const std::string bytes = ModelBytesFromText(kShiftedRelu).value();
  ExpectError(Session::LoadBytes(bytes, {.max_programs = 0}), ErrorCode::kInvalidArgument,
              "max_programs");
  ExpectError(Session::LoadBytes(bytes, {.disabled_passes = {"no-such-pass"}}),
              ErrorCode::kInvalidArgument, "no-such-pass");
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(1, 0);
  int stream = 0;
  ExpectError(session.Run({View(x.data(), {1, 4})}, {.stream = &stream}),
              ErrorCode::kInvalidArgument, "stream");
}

TEST(SessionTest, StopsWhenCancelled) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(1, 0);
  const std::atomic<bool> cancel = true;
  ExpectError(session.Run({View(x.data(), {1, 4})}, {.cancel = &cancel}), ErrorCode::kCancelled,
              "cancelled");
}

TEST(SessionTest, LoadErrorsAreErrors) {
  ExpectError(Session::Load("/no/such/model.onnx"), ErrorCode::kNotFound, "/no/such/model.onnx");
  ExpectError(Session::LoadBytes("dummy"), ErrorCode::kInvalidArgument, "");
}

}  // namespace
}  // namespace onnx_cudnn
