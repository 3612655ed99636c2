#include <gtest/gtest.h>

#include "onnx/defs/schema.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

TEST(SchemaTest, EveryOpImplementsOnnxNewestVersion) {
  for (const OpDef* op : AllOps()) {
    if (op->domain == kOwnDomain || op->domain == "com.microsoft") continue;
    const auto* schema = onnx::OpSchemaRegistry::Schema(op->type, kNewestOpset, op->domain);
    ASSERT_NE(schema, nullptr) << op->type;
    // Of two tree ensembles the newest version is but deprecated.
    if (schema->deprecated()) {
      schema = onnx::OpSchemaRegistry::Schema(op->type, op->since.back(), op->domain);
    }
    EXPECT_EQ(op->since.back(), schema->since_version()) << op->type;
  }
}

TEST(SchemaTest, TheListIsSortedAndFindsEveryOp) {
  std::string before;
  for (const OpDef* op : AllOps()) {
    EXPECT_LT(before, op->type);
    EXPECT_EQ(FindOp(op->type, op->domain), op);
    EXPECT_TRUE(op->reference != nullptr || op->evaluate != nullptr) << op->type;
    before = op->type;
  }
}

}  // namespace
}  // namespace onnx_cudnn
