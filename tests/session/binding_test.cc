// Bindings, shared arenas and tensors.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include "tests/session/shifted_relu.h"

namespace onnx_cudnn {
namespace {

// Two products, so that the arena holds an intermediate result.
constexpr std::string_view kTwoProducts = R"(
    g (float[8,8] x, float[8,8] w) => (float[8,8] y) {
      t = MatMul(x, w)
      y = MatMul(t, w)
    })";

std::vector<float> Diagonal(float value) {
  std::vector<float> matrix(64, 0);
  for (int i = 0; i < 8; ++i) matrix[9 * i] = value;
  return matrix;
}

TEST(SharedArenaTest, SessionsOnSeveralThreadsRunOneAtATime) {
  const auto arena = std::make_shared<SharedArena>(1 << 16);
  const Session first = LoadText(kTwoProducts, {.device = DeviceChoice::kCpu, .arena = arena});
  const Session second = LoadText(kTwoProducts, {.device = DeviceChoice::kCpu, .arena = arena});
  const auto run = [](const Session& session, float factor) {
    const std::vector<float> x = Rows(16, factor), w = Diagonal(2);
    for (int i = 0; i < 200; ++i) {
      const auto y = session.Run({View(x.data(), {8, 8}), View(w.data(), {8, 8})});
      std::vector<float> expected = x;
      for (float& e : expected) e *= 4;
      ASSERT_TRUE(y.ok());
      ASSERT_EQ(Values(Result(y).value()[0]), expected);
    }
  };
  std::thread other([&] { run(first, 1); });
  run(second, 5);
  other.join();
}

TEST(SharedArenaTest, OutlivesTheSessionThatAllocatedIt) {
  std::optional<Session> second;
  {
    const auto arena = std::make_shared<SharedArena>(1 << 16);
    const Session first = LoadText(kTwoProducts, {.device = DeviceChoice::kCpu, .arena = arena});
    second = LoadText(kTwoProducts, {.device = DeviceChoice::kCpu, .arena = arena});
  }
  const std::vector<float> x = Rows(16, 1), w = Diagonal(1);
  auto y = second->Run({View(x.data(), {8, 8}), View(w.data(), {8, 8})});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(Values(y.value()[0]), x);
}

TEST(SharedArenaTest, RefusesWhatDoesNotFit) {
  const Session session = LoadText(
      kTwoProducts, {.device = DeviceChoice::kCpu, .arena = std::make_shared<SharedArena>(16)});
  const std::vector<float> x = Diagonal(1);
  ExpectError(session.Run({View(x.data(), {8, 8}), View(x.data(), {8, 8})}),
              ErrorCode::kResourceExhausted, "the shared one has 16");
  ExpectError(
      Session::LoadBytes(ModelBytesFromText(kTwoProducts).value(),
                         {.device = DeviceChoice::kCpu, .arena = std::make_shared<SharedArena>(0)}),
      ErrorCode::kInvalidArgument, "option arena");
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

TEST(BindingTest, ReportsChangedValuesThatDecideShapes) {
  const Session session =
      LoadText("g (float[4] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }");
  const std::array<float, 4> x = {1, 2, 3, 4};
  std::array<int64_t, 2> shape = {2, 2};
  std::vector<float> y(4);
  Binding binding =
      session.Bind({View(x.data(), {4}), View(shape.data(), {2})}, {View(y.data(), {2, 2})})
          .value();
  ASSERT_TRUE(binding.Run().ok());
  shape = {1, 4};
  ExpectError(binding.Run(), ErrorCode::kFailedPrecondition, "input \"shape\"");
}

TEST(BindingTest, ReportsChangedStrings) {
  const Session session = LoadText("g (string[1] x) => (string[1] y) { y = Identity(x) }");
  Strings word = {"a"}, out(1);
  Binding binding = session.Bind({View(word.data(), {1})}, {View(out.data(), {1})}).value();
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(out[0], "a");
  word[0] = "b";
  ExpectError(binding.Run(), ErrorCode::kFailedPrecondition,
              "input \"x\": its strings are others than when it was bound: bind again");
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
TEST(TensorTest, StringsAreEmpty) {
  const Tensor tensor = Tensor::Allocate(DType::kString, {2, 1}).value();
  EXPECT_EQ(StringsIn(tensor), Strings(2));
  EXPECT_EQ(tensor.bytes(), 0);
}

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
