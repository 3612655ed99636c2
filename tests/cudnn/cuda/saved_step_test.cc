#include "runtime/cudnn/cuda/saved_step.h"

#include <string>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

SavedStep Example() {
  return {
      .version = 91900,
      .device = "NVIDIA H200, 900, 132 multiprocessors",
      .engine = "engine 41, k2=0",
      .operands = {{0, CudnnTensor::Kind::kInput, 1, 0},
                   {1, CudnnTensor::Kind::kInput, 0, 0, /*is_prefetched=*/true},
                   {3, CudnnTensor::Kind::kNumber, 0, -0.5F},
                   {4, CudnnTensor::Kind::kConstant, 0, 0},
                   {5, CudnnTensor::Kind::kInput, 1, 0, /*is_prefetched=*/false, /*offset=*/128}},
      .constants = {{2, {64, 3, 7, 7}, Format::ChannelsLast({64, 3, 7, 7}, 4)}},
      .plan = "{\"a\":\n1}"};
}

TEST(SavedStepTest, ComesBackEqual) {
  const absl::StatusOr<SavedStep> read = ParseSavedStep(ToText(Example()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->operands, Example().operands);
  EXPECT_EQ(read->constants, Example().constants);
  EXPECT_EQ(read->engine, Example().engine);
  EXPECT_EQ(read->plan, Example().plan);
  EXPECT_EQ(ToText(*read), ToText(Example()));
}

TEST(SavedStepTest, RefusesWhatIsCutOrBent) {
  const std::string text = ToText(Example());
  const size_t plan = text.find("{");
  for (size_t size = 0; size < plan; ++size) {
    const absl::StatusOr<SavedStep> read = ParseSavedStep(text.substr(0, size));
    if (read.ok()) continue;  // cut at a number of the last line, or in the plan
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(ParseSavedStep("").ok());
  for (size_t at = 0; at < plan; ++at) {
    std::string bent = text;
    bent[at] = 'x';
    ParseSavedStep(bent).IgnoreError();  // whatever it answers, it reads nothing outside
  }
}

TEST(SavedStepTest, RefusesAnOperandThatIsNoConstantOfIts) {
  SavedStep step = Example();
  step.constants.clear();
  EXPECT_FALSE(ParseSavedStep(ToText(step)).ok());
}

}  // namespace
}  // namespace onnx_cudnn
