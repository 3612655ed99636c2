// Every file in passes/rewrite is a pass, named like it, with _ for -.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

namespace fs = std::filesystem;

std::set<std::string> FilesEndingIn(std::string_view extension) {
  std::set<std::string> stems;
  for (const fs::directory_entry& entry : fs::directory_iterator(SourceFile("passes/rewrite"))) {
    const fs::path& path = entry.path();
    if (path.extension() == extension) stems.insert(path.stem().string());
  }
  return stems;
}

TEST(RewriteFilesTest, EveryFileIsAPassAndEveryPassAFile) {
  std::set<std::string> files;
  for (const std::string& name : PassNames()) {
    std::string_view pass = name;  // the two of lower_precision.cc differ in the type alone
    if (!absl::ConsumeSuffix(&pass, "-bf16")) absl::ConsumeSuffix(&pass, "-fp16");
    files.insert(absl::StrReplaceAll(pass, {{"-", "_"}}));
  }
  EXPECT_EQ(FilesEndingIn(".cc"), files);
}

TEST(RewriteFilesTest, HelpersLieInTheirOwnFolder) {
  EXPECT_EQ(FilesEndingIn(".h"), std::set<std::string>{"rewrites"});
}

}  // namespace
}  // namespace onnx_cudnn
