#include "onnx_cudnn/model_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "onnx_cudnn/session.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kSub = "g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }";

Tensor Pair(float first, float second) {
  Tensor tensor = Tensor::Allocate(DType::kF32, {2}).value();
  tensor.data<float>()[0] = first;
  tensor.data<float>()[1] = second;
  return tensor;
}

Session LoadText(std::string_view text) {
  return Session::LoadBytes(ModelBytesFromText(text).value()).value();
}

TEST(ModelValueTest, HoldsTheContentOfItsKind) {
  const ModelValue list = ModelValue::Sequence({Pair(1, 2), Pair(3, 4)});
  EXPECT_EQ(list.kind(), ValueKind::kSequence);
  ASSERT_EQ(list.elements().size(), 2u);
  EXPECT_EQ(list.elements()[1].kind(), ValueKind::kTensor);
  EXPECT_EQ(list.elements()[1].tensor().data<float>()[0], 3);
  EXPECT_TRUE(ModelValue::Optional().elements().empty());
  EXPECT_EQ(ModelValue::Optional(list).elements()[0].elements().size(), 2u);
  const ModelValue map = ModelValue::Map(Tensor::Allocate(DType::kI64, {1}).value(), {Pair(5, 6)});
  EXPECT_EQ(map.kind(), ValueKind::kMap);
  EXPECT_EQ(map.tensor().dtype(), DType::kI64);
  EXPECT_EQ(map.elements()[0].tensor().data<float>()[1], 6);
}

TEST(ModelValueTest, TensorsRunByPositionAndByName) {
  const Session session = LoadText(kSub);
  for (const auto& outputs : {session.RunValues({Pair(5, 7), Pair(1, 2)}),
                              session.RunValues({{"b", Pair(1, 2)}, {"a", Pair(5, 7)}})}) {
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    std::vector<ModelValue> values = Result<std::vector<ModelValue>>(outputs).value();
    ASSERT_EQ(values.size(), 1u);
    EXPECT_EQ(values[0].tensor().data<float>()[0], 4);
    EXPECT_EQ(values[0].tensor().data<float>()[1], 5);
  }
}

TEST(ModelValueTest, SequencesAndOptionalsComeBack) {
  const Session session = LoadText(R"(
      g (seq(float[2]) xs, optional(float[2]) maybe, float[2] x)
          => (seq(float[2]) ys, optional(float[2]) same, optional(float[2]) held) {
        ys = Identity(xs)
        same = Identity(maybe)
        held = Optional(x) })");
  auto outputs = session.RunValues({{"xs", ModelValue::Sequence({Pair(1, 2), Pair(3, 4)})},
                                    {"maybe", ModelValue::Optional()},
                                    {"x", Pair(5, 6)}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const std::vector<ModelValue>& values = outputs.value();
  ASSERT_EQ(values[0].elements().size(), 2u);
  EXPECT_EQ(values[0].elements()[1].tensor().data<float>()[0], 3);
  EXPECT_EQ(values[1].kind(), ValueKind::kOptional);
  EXPECT_TRUE(values[1].elements().empty());
  ASSERT_EQ(values[2].elements().size(), 1u);
  EXPECT_EQ(values[2].elements()[0].tensor().data<float>()[1], 6);
}

TEST(ModelValueTest, OtherKindsAreInvalid) {
  const Session session = LoadText(kSub);
  ExpectError(session.RunValues({Pair(1, 2), ModelValue::Optional(Pair(1, 2))}),
              ErrorCode::kInvalidArgument, "input \"b\": expected f32[2], found an optional");
  ExpectError(session.RunValues({{"a", ModelValue::Sequence({Pair(1, 2)})}, {"b", Pair(1, 2)}}),
              ErrorCode::kInvalidArgument, "input \"a\": expected f32[2], found a sequence");
}

}  // namespace
}  // namespace onnx_cudnn
