// Errors of the C++ API for numbers that are not enumerators, and for moved-from objects.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "onnx_cudnn/session.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

const std::array<float, 2> kPair = {1, -2};

std::string Bytes() {
  return ModelBytesFromText("g (float[2] x) => (float[2] y) { y = Relu(x) }").value();
}
Session Load() { return Session::LoadBytes(Bytes(), {.device = DeviceChoice::kCpu}).value(); }

template <typename T>
void ExpectInvalid(const Result<T>& result, std::string_view text) {
  ExpectError(result, ErrorCode::kInvalidArgument, text);
}

TEST(MisuseTest, OptionsThatAreNoEnumeratorsAreInvalid) {
  const std::string bytes = Bytes();
  const auto load = [&](const SessionOptions& options) {
    return Session::LoadBytes(bytes, options);
  };
  ExpectInvalid(load({.device = DeviceChoice(9)}), "option device: expected 0 to 2, found 9");
  ExpectInvalid(load({.precision = PrecisionChoice(200)}),
                "option precision: expected 0 to 4, found 200");
  ExpectInvalid(load({.partitioner = PartitionerChoice(2)}),
                "option partitioner: expected 0 to 1, found 2");
  ExpectInvalid(load({.tune = TuneMode(7)}), "option tune: expected 0 to 1, found 7");
}

TEST(MisuseTest, UnknownDTypesAreInvalid) {
  for (const DType dtype : {DType(kLastDType + 1), DType(200), DType(255)}) {
    EXPECT_EQ(BitsOf(dtype), 0);
    EXPECT_EQ(NameOf(dtype), "an unknown dtype");
    ExpectInvalid(Tensor::Allocate(dtype, {2}), "an unknown dtype");
    const Session session = Load();
    TensorView view = View(kPair.data(), {2});
    view.dtype = dtype;
    ExpectInvalid(session.Run({view}), "expected f32[2], found an unknown dtype[2]");
    ExpectInvalid(session.OutputsFor({view}), "found an unknown dtype");
    ExpectInvalid(session.ToDevice(view), "expected numbers, found an unknown dtype");
  }
}

TEST(MisuseTest, DevicesThatAreNotThereAreNamed) {
  const Session session = Load();
  TensorView view = View(kPair.data(), {2});
  view.device = {.kind = DeviceKind::kCpu, .ordinal = 3};
  ExpectInvalid(session.Run({view}), "expected memory of the host, found memory of cpu:3");
  ExpectInvalid(session.ToDevice(view), "found memory of cpu:3");
  view.device = {.kind = DeviceKind(9)};
  ExpectInvalid(session.Run({view}), "found memory of a device of the unknown kind 9");
}

// Planning for a larger device succeeds, with a warning in --explain; only a Run allocates the
// memory.
TEST(MisuseTest, AProgramForALargerDeviceIsBuiltAndItsRunReportsWhatIsMissing) {
  auto session = Session::LoadBytes(
      ModelBytesFromText("g (float[N] x) => (float[N] y) { a = Softmax(x) y = Softmax(a) }")
          .value(),
      {.target = "h200"});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const TensorView x = View(static_cast<const float*>(nullptr), {int64_t{1} << 40});
  auto outputs = session.value().OutputsFor({x});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(ToString(outputs.value()[0]), "y f32[1099511627776]");
}

TEST(MisuseTest, TensorsWithoutNumbersAreNotCopied) {
  const Session session = Load();
  ExpectInvalid(session.ToHost(Tensor()), "expected numbers, found ?");
  ExpectInvalid(session.ToHost(Tensor::Allocate(DType::kString, {2}).value()),
                "expected numbers, found string");
  Tensor tensor = Tensor::Allocate(DType::kF32, {2}).value();
  const Tensor moved = std::move(tensor);
  ExpectInvalid(session.ToHost(tensor), "found a null pointer");  // NOLINT: on purpose
}

TEST(MisuseTest, AMovedFromSessionIsAPrecondition) {
  Session session = Load();
  const Session owner = std::move(session);
  const auto expect_moved = [](const auto& result) {
    ExpectError(result, ErrorCode::kFailedPrecondition, "the Session was moved from");
  };
  const TensorView x = View(kPair.data(), {2});  // NOLINTBEGIN: uses after a move, on purpose
  expect_moved(session.Run({x}));
  expect_moved(session.Run({x}, {x}));
  expect_moved(session.Bind({x}, {x}));
  expect_moved(session.OutputsFor({x}));
  expect_moved(session.ToDevice(x));
  expect_moved(session.ToHost(Tensor::Allocate(DType::kF32, {2}).value()));
  EXPECT_TRUE(session.inputs().empty());
  EXPECT_TRUE(session.outputs().empty());
  EXPECT_EQ(session.device(), "");
  EXPECT_EQ(session.device_note(), "");
  EXPECT_EQ(session.device_ref(), DeviceRef());
  EXPECT_EQ(session.device_facts().product, "");
  EXPECT_EQ(session.precision(), PrecisionChoice::kAuto);
  EXPECT_EQ(session.stats().programs_built, 0);
  session = Load();  // NOLINTEND
  EXPECT_TRUE(session.Run({x}).ok());
}

TEST(MisuseTest, AMovedFromBindingIsAPrecondition) {
  const Session session = Load();
  std::array<float, 2> y = {};
  Binding binding = session.Bind({View(kPair.data(), {2})}, {View(y.data(), {2})}).value();
  Binding owner = std::move(binding);
  ExpectError(binding.Run(), ErrorCode::kFailedPrecondition,  // NOLINT
              "the Binding was moved from");
  ExpectError(binding.TimeRuns(1), ErrorCode::kFailedPrecondition, "the Binding was moved from");
  EXPECT_EQ(binding.graph_note(), "");
  EXPECT_TRUE(owner.Run().ok());
}

TEST(MisuseTest, TimeRunsCountsFromZero) {
  const Session session = Load();
  std::array<float, 2> y = {};
  Binding binding = session.Bind({View(kPair.data(), {2})}, {View(y.data(), {2})}).value();
  ExpectInvalid(binding.TimeRuns(-5), "expected 0 runs or more, found -5");
  EXPECT_TRUE(binding.TimeRuns(0).value().empty());
}

}  // namespace
}  // namespace onnx_cudnn
