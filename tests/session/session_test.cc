#include "runtime/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "absl/strings/match.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// y[n,i] = relu(x[n,i] − [1,2,3,4][i])
constexpr std::string_view kShiftedRelu = R"(
    g (float[N,4] x) => (float[N,4] y) <float[4] shift = {1, 2, 3, 4}> {
      d = Sub(x, shift)
      y = Relu(d)
    })";

Session LoadText(std::string_view text, const SessionOptions& options = {}) {
  return Session::LoadBytes(ModelBytesFromText(text).value(), options).value();
}

// An input whose rows all are [base, base + 1, base + 2, base + 3], and what kShiftedRelu makes of
// it.
std::vector<float> Rows(int64_t n, float base) {
  std::vector<float> rows;
  for (int64_t i = 0; i < 4 * n; ++i) rows.push_back(base + static_cast<float>(i % 4));
  return rows;
}
std::vector<float> ShiftedRows(int64_t n, float base) {
  return std::vector<float>(4 * n, std::max(0.0f, base - 1));
}

std::vector<float> Values(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::string_view text) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_TRUE(absl::StrContains(result.error().message, text)) << result.error().message;
}

TEST(SessionTest, DescribesInputsAndOutputsWithSymbols) {
  const Session session = LoadText(kShiftedRelu);
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(ToString(session.inputs()[0]), "x f32[N,4]");
  EXPECT_EQ(session.inputs()[0].dims[0].symbol, "N");
  EXPECT_EQ(session.inputs()[0].dims[1].value, 4);
  EXPECT_EQ(ToString(session.outputs()[0]), "y f32[N,4]");
}

TEST(SessionTest, SaysWhyAutoTookTheCpuDevice) {
  const Session session = LoadText(kShiftedRelu);
  EXPECT_EQ(session.device(), "cpu");
  EXPECT_TRUE(absl::StrContains(session.device_note(), "no CUDA device"));
  EXPECT_EQ(LoadText(kShiftedRelu, {.device = DeviceChoice::kCpu}).device_note(), "");
}

TEST(SessionTest, CudaIsAPreconditionThatThisBuildLacks) {
  const std::string bytes = ModelBytesFromText(kShiftedRelu).value();
  ExpectError(Session::LoadBytes(bytes, {.device = DeviceChoice::kCuda}),
              ErrorCode::kFailedPrecondition, "this build has no CUDA device");
}

TEST(SessionTest, RunsByPlaceAndByName) {
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

TEST(SessionTest, SaysTheOutputsForAShape) {
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
              ErrorCode::kInvalidArgument, "overlaps an input");
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

TEST(BindingTest, GivesWhatRunGives) {
  const Session session = LoadText(kShiftedRelu);
  std::vector<float> x = Rows(2, 3), y(8);
  Binding binding = session.Bind({View(x.data(), {2, 4})}, {View(y.data(), {2, 4})}).value();
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(y, Values(session.Run({View(x.data(), {2, 4})}).value()[0]));
  std::ranges::copy(Rows(2, 9), x.begin());  // the same addresses, other values
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(y, ShiftedRows(2, 9));
}

TEST(BindingTest, OutlivesItsSession) {
  std::vector<float> x = Rows(1, 2), y(4);
  Result<Binding> binding = [&] {
    const Session session = LoadText(kShiftedRelu);
    return session.Bind({View(x.data(), {1, 4})}, {View(y.data(), {1, 4})});
  }();
  ASSERT_TRUE(binding.value().Run().ok());
  EXPECT_EQ(y, ShiftedRows(1, 2));
}

TEST(TensorTest, RefusesSizesThatOverflow) {
  ExpectError(Tensor::Allocate(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}),
              ErrorCode::kInvalidArgument, "");
  ExpectError(Tensor::Allocate(DType::kF32, {-1}), ErrorCode::kInvalidArgument, "");
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // which end the process instead
TEST(TensorTest, NamesTheBytesThatMemoryLacks) {
  ExpectError(Tensor::Allocate(DType::kF32, {int64_t{1} << 44}), ErrorCode::kResourceExhausted,
              "70368744177664 bytes asked");
}
#endif

TEST(TensorTest, CopiesShareBytes) {
  Tensor tensor = Tensor::Allocate(DType::kF32, {2}).value();
  const Tensor copy = tensor;
  tensor.data<float>()[1] = 5;
  EXPECT_EQ(copy.data<float>()[1], 5);
}

}  // namespace
}  // namespace onnx_cudnn
