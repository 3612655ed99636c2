#include "onnx_cudnn/version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

namespace onnx_cudnn {
namespace {

TEST(VersionTest, TellsWhatTheBuildIsMadeOf) {
  const BuildFacts facts = Version();
  for (const std::string& version : {facts.version, facts.onnx}) {
    EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
    EXPECT_TRUE(std::all_of(version.begin(), version.end(), [](unsigned char c) {
      return std::isdigit(c) != 0 || c == '.';
    })) << version;
  }
  EXPECT_NE(facts.compiler.find(' '), std::string::npos) << facts.compiler;
  EXPECT_EQ(facts.cuda.empty(), facts.cuda_architectures.empty());
  EXPECT_EQ(facts.cuda.empty(), facts.cudnn_frontend.empty());
  EXPECT_TRUE(std::all_of(facts.commit.begin(), facts.commit.end(), [](unsigned char c) {
    return std::isxdigit(c) != 0;
  })) << facts.commit;
  EXPECT_EQ(facts.oldest_opset, 1);
  EXPECT_EQ(facts.newest_opset, 28);
}

}  // namespace
}  // namespace onnx_cudnn
