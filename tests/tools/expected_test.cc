#include "tools/common/expected.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/file.h"

namespace onnx_cudnn {
namespace {

class ExpectedTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void WriteTensor(const std::string& name, std::initializer_list<float> values) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const float value : values) tensor.add_float_data(value);
    ASSERT_TRUE(WriteFile(folder_ + "/" + name, tensor.SerializeAsString()).ok());
  }
  absl::StatusOr<Expected> Read() { return ReadExpected(folder_, inputs_, outputs_); }

  const std::string folder_ = testing::TempDir() + "/expected_test";
  const std::vector<ValueInfo> inputs_ = {{.name = "a", .dtype = DType::kF32, .dims = {}},
                                          {.name = "b", .dtype = DType::kF32, .dims = {}}};
  const std::vector<ValueInfo> outputs_ = {{.name = "y", .dtype = DType::kF32, .dims = {}}};
};

TEST_F(ExpectedTest, TakesATestDataSetByPosition) {
  WriteTensor("input_0.pb", {1, 2});
  WriteTensor("input_1.pb", {3});
  WriteTensor("output_0.pb", {4, 5, 6});
  const absl::StatusOr<Expected> expected = Read();
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->inputs.at("a").dims(), (Dims{2}));
  EXPECT_EQ(expected->inputs.at("b").data<float>()[0], 3);
  EXPECT_EQ(expected->outputs.at("y").data<float>()[2], 6);
}

TEST_F(ExpectedTest, TakesADirectoryOfArraysByFileName) {
  const HostTensor numbers = HostTensor::Of<float>(DType::kF32, {2}, {7, 8});
  ASSERT_TRUE(WriteNpy(folder_ + "/scope_y_0.npy", numbers).ok());
  ASSERT_TRUE(WriteNpy(folder_ + "/a.npy", numbers).ok());  // --output-dir writes no inputs
  const absl::StatusOr<Expected> expected =
      ReadExpected(folder_, inputs_, {{.name = "scope/y:0", .dtype = DType::kF32, .dims = {}}});
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_TRUE(expected->inputs.empty());
  EXPECT_EQ(expected->outputs.at("scope/y:0").data<float>()[1], 8);
}

TEST_F(ExpectedTest, RefusesAFolderWithoutOutputs) {
  WriteTensor("input_0.pb", {1, 2});
  EXPECT_TRUE(absl::StrContains(Read().status().message(), "holds no output"));
}

TEST_F(ExpectedTest, RefusesAFileThatIsNoTensor) {
  ASSERT_TRUE(WriteFile(folder_ + "/output_0.pb", "\xff\xff\xff").ok());
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(Read().status().message(), "output_0.pb"));
}

}  // namespace
}  // namespace onnx_cudnn
