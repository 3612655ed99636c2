#include "runtime/tune/built_plans.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

Choice Taking(double us) { return {.us = us}; }

TEST(BuiltPlansTest, KeepsTheMostRecentlyUsed) {
  BuiltPlans plans(2);
  plans.Put("a", Taking(1));
  plans.Put("b", Taking(2));
  EXPECT_EQ(plans.Find("a")->us, 1);
  plans.Put("c", Taking(3));
  EXPECT_FALSE(plans.Find("b").has_value());
  EXPECT_EQ(plans.Find("a")->us, 1);
  EXPECT_EQ(plans.Find("c")->us, 3);
}

TEST(BuiltPlansTest, ReplacesOneOfEqualSignature) {
  BuiltPlans plans(2);
  plans.Put("a", Taking(1));
  plans.Put("b", Taking(2));
  plans.Put("a", Taking(4));
  EXPECT_EQ(plans.Find("a")->us, 4);
  EXPECT_EQ(plans.Find("b")->us, 2);
}

}  // namespace
}  // namespace onnx_cudnn
