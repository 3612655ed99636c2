// Sessions of models with maps: the ops of ai.onnx.ml that take or give them.
#include <string>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/support/expect_error.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

class MapsTest : public SessionOnDevices {};

constexpr std::string_view kZip = R"(
    <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    g (float[N,2] x) => (seq(map(string, float)) z) {
      y = Neg(x)
      z = ai.onnx.ml.ZipMap<classlabels_strings = ["cat", "dog"]>(y) })";

TEST_P(MapsTest, AZipMapGivesAMapPerRow) {
  Load(kZip);
  EXPECT_EQ(ToString(session().outputs()[0]), "z sequence(map(string,f32[]))");
  const auto outputs = Run({TensorOf<float>({2, 2}, {1, 2, 3, 4})});
  ASSERT_EQ(outputs.size(), 1u);
  const std::vector<ModelValue>& maps = outputs[0].elements();
  ASSERT_EQ(maps.size(), 2u);
  for (const ModelValue& map : maps) {
    ASSERT_EQ(map.kind(), ValueKind::kMap);
    const auto* keys = map.tensor().data<std::string>();
    EXPECT_EQ(Strings(keys, keys + map.tensor().elements()), Strings({"cat", "dog"}));
    ASSERT_EQ(map.elements().size(), 2u);
  }
  ExpectTensor<float>(maps[0].elements()[1], {}, {-2});
  ExpectTensor<float>(maps[1].elements()[0], {}, {-3});
}

TEST_P(MapsTest, AZipMapHasAsManyColumnsAsLabels) {
  Load(R"(
      <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (float[N,M] x) => (seq(map(int64, float)) z) {
        z = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 9]>(x) })");
  const auto outputs = Run({TensorOf<float>({1, 2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 1u);
  ExpectTensor<int64_t>(outputs[0].elements()[0].tensor(), {2}, {7, 9});  // the keys
  ExpectError(session().RunValues({TensorOf<float>({1, 3}, {1, 2, 3})}),
              ErrorCode::kInvalidArgument, "for 2 labels, found f32[1,3]");
}

// {5: 1.5, −2: 0.25}
ModelValue TwoNumbers() {
  return ModelValue::Map(TensorOf<int64_t>({2}, {5, -2}),
                         {TensorOf<float>({}, {1.5}), TensorOf<float>({}, {0.25})});
}

TEST_P(MapsTest, ADictVectorizerPutsValuesWhereTheirKeysAre) {
  Load(R"(
      <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (map(int64, float) x) => (float[1,3] y) {
        row = ai.onnx.ml.DictVectorizer<int64_vocabulary = [-2, 4, 5]>(x)
        y = Neg(row) })");
  ExpectTensor<float>(Run({TwoNumbers()})[0], {1, 3}, {-0.25, -0.0, -1.5});
  const ModelValue other = ModelValue::Map(TensorOf<int64_t>({1}, {6}), {TensorOf<float>({}, {1})});
  ExpectTensor<float>(Run({other})[0], {1, 3}, {-0.0, -0.0, -0.0});
  ExpectError(session().RunValues(
                  {ModelValue::Map(TensorOf<int64_t>({2}, {5, 4}), {TensorOf<float>({}, {1.5})})}),
              ErrorCode::kInvalidArgument, "expected a vector of 1 keys, found i64[2]");
}

TEST_P(MapsTest, ACastMapIsDenseOrSparse) {
  Load(R"(
      <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (map(int64, float) x) => (int64[1,N] dense, string[1,M] texts) {
        dense = ai.onnx.ml.CastMap<cast_to = "TO_INT64">(x)
        texts = ai.onnx.ml.CastMap<cast_to = "TO_STRING">(x) })");
  auto outputs = Run({TwoNumbers()});
  ASSERT_EQ(outputs.size(), 2u);
  ExpectTensor<int64_t>(outputs[0], {1, 2}, {0, 1});
  ExpectTensor<std::string>(outputs[1], {1, 2}, {"0.25", "1.5"});
  Load(R"(
      <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (map(int64, string) x) => (float[1,4] y) {
        y = ai.onnx.ml.CastMap<map_form = "SPARSE", max_map = 4>(x) })");
  const auto numbers = [](int64_t first) {
    return ModelValue::Map(TensorOf<int64_t>({2}, {first, 1}),
                           {TensorOf<std::string>({}, {"1.5"}), TensorOf<std::string>({}, {"-2"})});
  };
  ExpectTensor<float>(Run({numbers(3)})[0], {1, 4}, {0, -2, 0, 1.5});
  ExpectError(session().RunValues({numbers(4)}), ErrorCode::kInvalidArgument,
              "(CastMap): the key 4 is not in [0, 4)");
}

INSTANTIATE_TEST_SUITE_P(Devices, MapsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
