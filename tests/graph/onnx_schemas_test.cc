#include "runtime/graph/onnx_schemas.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace onnx_cudnn {
namespace {

constexpr int kBeyondTheNewest = 1000;

TEST(OnnxSchemasTest, AreThoseOfOnnxRegistryForEveryOpAndOpset) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    for (int opset = 0; opset <= schema.since_version() + 1; ++opset) {
      const onnx::OpSchema* theirs =
          onnx::OpSchemaRegistry::Schema(schema.Name(), opset, schema.domain());
      const onnx::OpSchema* ours = FindSchema(schema.Name(), opset, schema.domain());
      ASSERT_EQ(ours == nullptr, theirs == nullptr) << schema.Name() << " " << opset;
      if (ours == nullptr) continue;
      EXPECT_EQ(ours->Name(), theirs->Name());
      EXPECT_EQ(ours->domain(), theirs->domain());
      EXPECT_EQ(ours->since_version(), theirs->since_version()) << schema.Name() << " " << opset;
      EXPECT_EQ(ours->min_input(), theirs->min_input()) << schema.Name() << " " << opset;
      EXPECT_EQ(ours->max_output(), theirs->max_output()) << schema.Name() << " " << opset;
      EXPECT_EQ(ours->function_opset_versions(), theirs->function_opset_versions());
    }
  }
}

TEST(OnnxSchemasTest, AreNotFoundInOtherDomainsOrByOtherNames) {
  EXPECT_NE(FindSchema("Relu", kBeyondTheNewest, ""), nullptr);
  EXPECT_EQ(FindSchema("Relu", kBeyondTheNewest, "ai.onnx.ml"), nullptr);
  EXPECT_EQ(FindSchema("relu", kBeyondTheNewest, ""), nullptr);
  EXPECT_EQ(FindSchema("", kBeyondTheNewest, ""), nullptr);
}

TEST(OnnxSchemasTest, ThreadsGetTheSameSchema) {
  std::vector<const onnx::OpSchema*> found(8);
  std::vector<std::thread> threads;
  for (const onnx::OpSchema*& schema : found) {
    threads.emplace_back([&schema] { schema = FindSchema("LSTM", 14, ""); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const onnx::OpSchema* schema : found) EXPECT_EQ(schema, FindSchema("LSTM", 14, ""));
}

}  // namespace
}  // namespace onnx_cudnn
