// Class 3 of what the loader refuses: tensors whose dims, type and elements disagree.
#include <gtest/gtest.h>

#include "tests/support/hostile.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::TensorProto;
using Dims64 = std::vector<int64_t>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// A model whose output is the initializer "w".
auto Tensor(
    int dtype, Dims64 dims, std::function<void(Proto&)> fill = [](Proto&) {}) {
  return EmptyGraph([=](onnx::GraphProto& g) {
    fill(AddInitializer(g, "w", dtype, dims));
    AddOutput(g, "w");
  });
}

auto Raw(size_t bytes, char fill = '\0') {
  return [=](Proto& t) { t.set_raw_data(std::string(bytes, fill)); };
}
void Fill(auto& field, int count, auto value) {
  for (int i = 0; i < count; ++i) field.Add(value);
}
auto Floats(int count) {
  return [=](Proto& t) { Fill(*t.mutable_float_data(), count, 0); };
}
auto Int32s(int count, int value = 0) {
  return [=](Proto& t) { Fill(*t.mutable_int32_data(), count, value); };
}
auto Int64s(int count) {
  return [=](Proto& t) { Fill(*t.mutable_int64_data(), count, 0); };
}
auto Doubles(int count) {
  return [=](Proto& t) { Fill(*t.mutable_double_data(), count, 0); };
}
auto Uint64s(int count, uint64_t value = 0) {
  return [=](Proto& t) { Fill(*t.mutable_uint64_data(), count, value); };
}
auto Strings(int count) {
  return [=](Proto& t) {
    for (int i = 0; i < count; ++i) t.add_string_data("s");
  };
}

auto Both(auto first, auto second) {
  return [=](Proto& t) {
    first(t);
    second(t);
  };
}

constexpr int64_t kHuge = int64_t{1} << 40;

const HostileCase kCases[] = {
    {"NegativeDim", Tensor(Proto::FLOAT, {-1, 4}, Raw(16)), kInvalid, "negative extent"},
    {"LeastDim", Tensor(Proto::FLOAT, {INT64_MIN}, Raw(16)), kInvalid, "negative extent"},
    {"ElementsOverflow", Tensor(Proto::FLOAT, {kHuge, kHuge}, Raw(16)), kInvalid, "more elements"},
    {"ElementsOverflowToZero", Tensor(Proto::FLOAT, {int64_t{1} << 32, int64_t{1} << 32}), kInvalid,
     "more elements"},
    {"BytesOverflow", Tensor(Proto::DOUBLE, {int64_t{1} << 61}, Raw(16)), kInvalid,
     "more elements"},
    {"OverflowBehindZero", Tensor(Proto::FLOAT, {0, kHuge, kHuge}), kInvalid, "more elements"},
    {"LargestCount", Tensor(Proto::INT8, {INT64_MAX}, Raw(16)), kInvalid, ""},
    {"TerabytesWithoutElements", Tensor(Proto::FLOAT, {kHuge}), kInvalid, "dims and type need"},
    {"StringsWithoutElements", Tensor(Proto::STRING, {kHuge}), kInvalid, "dims and type need"},
    {"NoElements", Tensor(Proto::FLOAT, {4}), kInvalid, "holds 0 elements"},
    {"RawTooShort", Tensor(Proto::FLOAT, {4}, Raw(15)), kInvalid,
     "holds 15 bytes, dims and type need 16"},
    {"RawTooLong", Tensor(Proto::FLOAT, {4}, Raw(17)), kInvalid, "holds 17 bytes"},
    {"LargeRawTooShort", Tensor(Proto::FLOAT, {10'000}, Raw(39'996)), kInvalid,
     "holds 39996 bytes"},
    {"RawOfEmptyTensor", Tensor(Proto::FLOAT, {0}, Raw(4)), kInvalid, "holds 4 bytes"},
    {"RawOf4Bits", Tensor(Proto::INT4, {5}, Raw(5)), kInvalid, "dims and type need 3"},
    {"RawOf2Bits", Tensor(Proto::UINT2, {5}, Raw(1)), kInvalid, "dims and type need 2"},
    {"FloatsTooFew", Tensor(Proto::FLOAT, {4}, Floats(3)), kInvalid,
     "holds 3 elements, dims and type need 4"},
    {"FloatsTooMany", Tensor(Proto::FLOAT, {4}, Floats(5)), kInvalid, "holds 5 elements"},
    {"FloatsOfComplex", Tensor(Proto::COMPLEX64, {4}, Floats(4)), kInvalid, "dims and type need 8"},
    {"Int32sTooFew", Tensor(Proto::INT8, {4}, Int32s(3)), kInvalid, "holds 3 elements"},
    {"Int32sOf4Bits", Tensor(Proto::UINT4, {5}, Int32s(5)), kInvalid, "dims and type need 3"},
    {"Int32sOf2Bits", Tensor(Proto::INT2, {5}, Int32s(5)), kInvalid, "dims and type need 2"},
    {"Int64sTooMany", Tensor(Proto::INT64, {4}, Int64s(5)), kInvalid, "holds 5 elements"},
    {"DoublesTooFew", Tensor(Proto::COMPLEX128, {4}, Doubles(7)), kInvalid, "dims and type need 8"},
    {"Uint64sTooFew", Tensor(Proto::UINT32, {4}, Uint64s(3)), kInvalid, "holds 3 elements"},
    {"StringsTooMany", Tensor(Proto::STRING, {2}, Strings(3)), kInvalid, "holds 3 elements"},
    {"Int8OutOfRange", Tensor(Proto::INT8, {1}, Int32s(1, 256)), kInvalid,
     "out of the range of i8"},
    {"Float16OutOfRange", Tensor(Proto::FLOAT16, {1}, Int32s(1, 65536)), kInvalid,
     "out of the range of f16"},
    {"Uint32OutOfRange", Tensor(Proto::UINT32, {1}, Uint64s(1, uint64_t{1} << 32)), kInvalid,
     "out of the range of u32"},
    {"Uint32FarOutOfRange", Tensor(Proto::UINT32, {1}, Uint64s(1, ~uint64_t{0})), kInvalid,
     "out of the range of u32"},
    {"BoolInRaw", Tensor(Proto::BOOL, {4}, Raw(4, 2)), kInvalid, "neither 0 nor 1"},
    {"BoolInInt32s", Tensor(Proto::BOOL, {1}, Int32s(1, 255)), kInvalid, "neither 0 nor 1"},
    {"TwoPayloads", Tensor(Proto::FLOAT, {4}, Both(Raw(16), Floats(4))), kInvalid, "two fields"},
    {"LargeAndSmallPayload", Tensor(Proto::FLOAT, {2000}, Both(Raw(8000), Int64s(1))), kInvalid,
     "two fields"},
    {"StringsInRaw", Tensor(Proto::STRING, {4}, Raw(4)), kInvalid, "strings stand in raw_data"},
    {"StringsInLargeRaw", Tensor(Proto::STRING, {4}, Raw(8000)), kInvalid,
     "strings stand in raw_data"},
    {"OtherTypesField", Tensor(Proto::FLOAT, {4}, Int64s(4)), kInvalid, "another type's field"},
    {"TypeMissing", Tensor(0, {4}, Raw(16)), kInvalid, "data_type 0"},
    {"TypeUnknown", Tensor(99, {4}, Raw(16)), kInvalid, "data_type 99"},
    {"TypeNegative", Tensor(-1, {4}, Raw(16)), kInvalid, "data_type -1"},
    {"TypeOf6Bits", Tensor(Proto::FLOAT6E2M3, {4}, Raw(3)), kUnimplemented, "6-bit"},
    {"Segment", Tensor(Proto::FLOAT, {4}, [](Proto& t) { t.mutable_segment()->set_end(4); }),
     kUnimplemented, "segments"},
    {"InConstant", EmptyGraph([](onnx::GraphProto& g) {
       SetTensor(AddNode(g, "Constant", {}, {"y"}), "value", Proto::FLOAT, {4}).set_raw_data("123");
       AddOutput(g, "y");
     }),
     kInvalid, "node \"n1\" (Constant): attribute \"value\": holds 3 bytes"},
    {"InAttribute", EmptyGraph([](onnx::GraphProto& g) {
       AddInts(g, "shape", {2});
       SetTensor(AddNode(g, "ConstantOfShape", {"shape"}, {"y"}), "value", Proto::FLOAT, {-1});
       AddOutput(g, "y");
     }),
     kInvalid, "attribute \"value\": dims [-1]"},
    {"InBody", BothBranches([](onnx::GraphProto& body) {
       AddInitializer(body, "w", Proto::FLOAT, {4}).set_raw_data("123");
       AddOutput(body, "w");
     }),
     kInvalid, "attribute \"then_branch\": initializer \"w\": holds 3 bytes"},
    {"SparseInitializer", EmptyGraph([](onnx::GraphProto& g) {
       onnx::SparseTensorProto& sparse = *g.add_sparse_initializer();
       sparse.mutable_values()->set_name("w");
       sparse.add_dims(kHuge);
       AddOutput(g, "w");
     }),
     kUnimplemented, "sparse"},
    {"SparseConstant", EmptyGraph([](onnx::GraphProto& g) {
       onnx::NodeProto& node = AddNode(g, "Constant", {}, {"y"});
       AddAttribute(node, "sparse_value", onnx::AttributeProto::SPARSE_TENSOR)
           .mutable_sparse_tensor()
           ->add_dims(kHuge);
       AddOutput(g, "y");
     }),
     kUnimplemented, "SPARSE_TENSOR"},
};

HOSTILE_SUITE(HostileTensorTest)
INSTANTIATE_TEST_SUITE_P(Tensor, HostileTensorTest, testing::ValuesIn(kCases), NameOfHostile);

}  // namespace
}  // namespace onnx_cudnn
