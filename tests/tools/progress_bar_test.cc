#include "tools/common/progress_bar.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

TEST(ProgressBarTest, ShowsThePartThatIsDone) {
  EXPECT_EQ(ProgressBar("tuning", 0, 8),
            "tuning  [>                                       ] 0 of 8");
  EXPECT_EQ(ProgressBar("tuning", 4, 8),
            "tuning  [====================>                   ] 4 of 8");
  EXPECT_EQ(ProgressBar("tuning", 8, 8),
            "tuning  [========================================] 8 of 8");
  EXPECT_EQ(ProgressBar("tuning", 0, 0),
            "tuning  [>                                       ] 0 of 0");
}

}  // namespace
}  // namespace onnx_cudnn
