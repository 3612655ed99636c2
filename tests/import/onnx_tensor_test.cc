#include "runtime/import/onnx_tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/model_builder.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::TensorProto;

// A tensor in its typed field, and its bytes.
struct Form {
  DType dtype;
  int64_t elements;
  std::string bytes;
  std::function<void(Proto&)> typed;
};
void PrintTo(const Form& form, std::ostream* out) { *out << NameOf(form.dtype); }

template <typename T>
std::string BytesOfValues(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Form InInt32s(DType dtype, int64_t elements, std::vector<int32_t> values, std::string bytes) {
  return {dtype, elements, std::move(bytes),
          [=](Proto& t) { t.mutable_int32_data()->Add(values.begin(), values.end()); }};
}

std::vector<Form> Forms() {
  const std::vector<float> floats = {1, -2, 3, 4};
  const std::vector<double> doubles = {1, -2, 3, 4};
  std::vector<Form> forms = {
      {DType::kF32, 4, BytesOfValues(floats),
       [=](Proto& t) { t.mutable_float_data()->Add(floats.begin(), floats.end()); }},
      {DType::kC64, 2, BytesOfValues(floats),
       [=](Proto& t) { t.mutable_float_data()->Add(floats.begin(), floats.end()); }},
      {DType::kF64, 4, BytesOfValues(doubles),
       [=](Proto& t) { t.mutable_double_data()->Add(doubles.begin(), doubles.end()); }},
      {DType::kC128, 2, BytesOfValues(doubles),
       [=](Proto& t) { t.mutable_double_data()->Add(doubles.begin(), doubles.end()); }},
      {DType::kI64, 2, BytesOfValues<int64_t>({-1, INT64_MIN}),
       [](Proto& t) {
         t.add_int64_data(-1);
         t.add_int64_data(INT64_MIN);
       }},
      {DType::kU64, 1, BytesOfValues<uint64_t>({~uint64_t{0}}),
       [](Proto& t) { t.add_uint64_data(~uint64_t{0}); }},
      {DType::kU32, 1, BytesOfValues<uint32_t>({~uint32_t{0}}),
       [](Proto& t) { t.add_uint64_data(~uint32_t{0}); }},
      InInt32s(DType::kI32, 2, {-1, 7}, BytesOfValues<int32_t>({-1, 7})),
      InInt32s(DType::kI16, 2, {-1, 7}, BytesOfValues<int16_t>({-1, 7})),
      InInt32s(DType::kU16, 2, {65535, 7}, BytesOfValues<uint16_t>({65535, 7})),
      InInt32s(DType::kI8, 3, {-128, 127, 255}, "\x80\x7f\xff"),
      InInt32s(DType::kU8, 2, {255, 1}, "\xff\x01"),
      InInt32s(DType::kBool, 2, {1, 0}, std::string("\1\0", 2)),
      InInt32s(DType::kF16, 1, {0xfc00}, BytesOfValues<uint16_t>({0xfc00})),
      InInt32s(DType::kBF16, 1, {0x3f80}, BytesOfValues<uint16_t>({0x3f80})),
      InInt32s(DType::kU4, 3, {0x21, 0x03}, "\x21\x03"),
      InInt32s(DType::kI4, 3, {0x8f, 0x07}, "\x8f\x07"),
      InInt32s(DType::kF4E2M1, 2, {0x9a}, "\x9a"),
      InInt32s(DType::kU2, 5, {0xe4, 0x01}, "\xe4\x01"),
      InInt32s(DType::kI2, 4, {0xe4}, "\xe4"),
  };
  for (DType dtype :
       {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0}) {
    forms.push_back(InInt32s(dtype, 2, {0x80, 0x7e}, "\x80\x7e"));
  }
  return forms;
}

Proto Empty(const Form& form) {
  Proto proto;
  proto.set_data_type(static_cast<int>(form.dtype));
  proto.add_dims(form.elements);
  return proto;
}

void ExpectIs(const absl::StatusOr<HostTensor>& tensor, const Form& form) {
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->dtype(), form.dtype);
  EXPECT_EQ(tensor->dims(), Dims{form.elements});
  ASSERT_EQ(tensor->bytes(), static_cast<int64_t>(form.bytes.size()));
  EXPECT_EQ(std::memcmp(tensor->raw(), form.bytes.data(), form.bytes.size()), 0);
}

class OnnxTensorTest : public testing::TestWithParam<Form> {};

TEST_P(OnnxTensorTest, ReadsTheTypedField) {
  Proto proto = Empty(GetParam());
  GetParam().typed(proto);
  ExpectIs(ImportTensor(std::move(proto), {}), GetParam());
}

TEST_P(OnnxTensorTest, ReadsRawData) {
  Proto proto = Empty(GetParam());
  proto.set_raw_data(GetParam().bytes);
  ExpectIs(ImportTensor(std::move(proto), {}), GetParam());
}

TEST_P(OnnxTensorTest, ReadsExternalDataAtAnOddOffset) {
  TempFolder folder;
  folder.Write("data", "x" + GetParam().bytes);
  for (ExternalBytes how : {ExternalBytes::kRead, ExternalBytes::kMap}) {
    Proto proto = Empty(GetParam());
    SetExternal(proto, {{"location", "data"}, {"offset", "1"}});
    ExternalData external(folder.path("model.onnx"), {.external_bytes = how});
    ExpectIs(ImportTensor(std::move(proto), {.external = &external}), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, OnnxTensorTest, testing::ValuesIn(Forms()),
                         [](const auto& info) { return std::string(NameOf(info.param.dtype)); });

TEST(ImportTensorTest, MovesLargeRawData) {
  Proto proto;
  proto.set_data_type(Proto::UINT8);
  proto.add_dims(1000);
  proto.set_raw_data(std::string(1000, 'a'));
  const void* before = proto.raw_data().data();
  EXPECT_EQ(ImportTensor(std::move(proto), {})->raw(), before);
}

TEST(ImportTensorTest, ReadsStrings) {
  Proto proto;
  proto.set_data_type(Proto::STRING);
  proto.add_dims(2);
  proto.add_string_data("a");
  proto.add_string_data(std::string("\0b", 2));
  EXPECT_EQ(ImportTensor(std::move(proto), {})->strings(),
            (std::vector<std::string>{"a", std::string("\0b", 2)}));
}

TEST(ImportTensorTest, ReadsScalarsAndEmptyTensors) {
  Proto scalar;
  scalar.set_data_type(Proto::FLOAT);
  scalar.add_float_data(2);
  EXPECT_EQ(ImportTensor(std::move(scalar), {})->data<float>()[0], 2);
  Proto empty;
  empty.set_data_type(Proto::FLOAT);
  empty.add_dims(0);
  EXPECT_EQ(ImportTensor(std::move(empty), {})->elements(), 0);
}

}  // namespace
}  // namespace onnx_cudnn
