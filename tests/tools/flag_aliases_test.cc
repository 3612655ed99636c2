#include "tools/common/flag_aliases.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

using Arguments = std::vector<std::string>;

const Arguments kRunFlags = {"output-dir", "precision", "runs", "shape", "warm-up"};

Arguments Translated(const Arguments& arguments, const Arguments& flags = kRunFlags) {
  return WithOurFlags(arguments, [&](std::string_view name) {
    return std::find(flags.begin(), flags.end(), name) != flags.end();
  });
}

TEST(WithOurFlagsTest, ReadsOtherToolsFlags) {
  EXPECT_EQ(Translated({"run", "--onnx=m.onnx", "--fp16", "--iterations", "10", "--warmUp=500"}),
            (Arguments{"run", "m.onnx", "--precision=fp16", "--runs=10", "--warm-up=500"}));
  EXPECT_EQ(Translated({"--shapes=x:1x3,y:1"}), (Arguments{"--shape=x=1x3", "--shape=y=1"}));
  EXPECT_EQ(Translated({"--shapes=x:0:1x3"}), (Arguments{"--shape=x:0=1x3"}));
  EXPECT_EQ(Translated({"--shapes=1x3"}), (Arguments{"--shape=1x3"}));
}

TEST(WithOurFlagsTest, TheFlagsOfThisToolStay) {
  const Arguments bench = {"precisions", "shapes", "iterations"};
  EXPECT_EQ(Translated({"--shapes=Nx3", "--iterations", "7", "--fp16"}, bench),
            (Arguments{"--shapes=Nx3", "--iterations", "7", "--precisions=fp16"}));
  EXPECT_EQ(Translated({"--runs=3", "--", "--fp16"}), (Arguments{"--runs=3", "--", "--fp16"}));
}

TEST(WithOurFlagsTest, UnknownFlagsStay) {
  EXPECT_EQ(Translated({"--frobnicate", "--duration=3"}),
            (Arguments{"--frobnicate", "--duration=3"}));
}

TEST(WithOurFlagsTest, ASwitchThatIsGivenAValueIsNotTheSwitch) {
  EXPECT_EQ(Translated({"--fp16=false", "--noTF32=0"}), (Arguments{"--fp16=false", "--noTF32=0"}));
}

TEST(SuggestionForTest, KnowsFlagsOfOtherTools) {
  EXPECT_EQ(SuggestionFor("loadInputs", kRunFlags), "--input name=FILE.npy");
  EXPECT_EQ(SuggestionFor("load-inputs", kRunFlags), "--input name=FILE.npy");
  EXPECT_EQ(SuggestionFor("explain", kRunFlags), "onnx-cudnn-opt MODEL --explain --target h200");
}

TEST(SuggestionForTest, FindsASimilarName) {
  EXPECT_EQ(SuggestionFor("warmup", kRunFlags), "--warm-up");
  EXPECT_EQ(SuggestionFor("precison", kRunFlags), "--precision");
  EXPECT_EQ(SuggestionFor("frobnicate", kRunFlags), "");
}

}  // namespace
}  // namespace onnx_cudnn
