#include "tests/kernels/operator_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

constexpr char kUpdate[] = "ONNX_CUDNN_UPDATE_OPERATORS";

// The first line in which the texts differ, of both.
std::string FirstDifference(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = absl::StrSplit(a, '\n'), right = absl::StrSplit(b, '\n');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string l = i < left.size() ? left[i] : "", r = i < right.size() ? right[i] : "";
    if (l != r) return "committed: " + l + "\ngenerated: " + r;
  }
  return "";
}

TEST(OperatorTableTest, ThePageIsWhatTheCodeSays) {
  const std::string generated = OperatorPage(), path = SourceFile("docs/operators.md");
  if (std::getenv(kUpdate) != nullptr) std::ofstream(path) << generated;
  std::ostringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(FirstDifference(committed.str(), generated), "")
      << "write docs/operators.md again:\n  " << kUpdate
      << "=1 build/bin/test_kernels --gtest_filter='OperatorTable*'";
}

// By hand, so that a generator that loses its sources fails.
TEST(OperatorTableTest, KnowsWhatRunsSomeOps) {
  const std::string page = OperatorPage();
  for (const char* row : {
           "| Relu | 1, 6, 13, 14 | floats, i8, i16, i32, i64 | ",
           "| Det | 11, 22 | floats | host |",
           "| ConstantOfShape | 9, 20, 21, 23, 24, 25 | i64 | kernel |",
           "| Trilu | 14 | floats, integers, complex, bool | kernel |",
       }) {
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  }
  const std::pair<const char*, const char*> engines[] = {{"| Einsum |", "floats: expanded: "},
                                                         {"| Conv |", "cudnn"},
                                                         {"| MatMul |", "gemm"},
                                                         {"| Reshape |", "view"}};
  for (const auto& [row, engine] : engines) {
    const size_t begin = page.find(row);
    ASSERT_NE(begin, std::string::npos) << row;
    const std::string line = page.substr(begin, page.find('\n', begin) - begin);
    EXPECT_NE(line.find(engine), std::string::npos) << line;
  }
  EXPECT_EQ(page.find("Transfer"), std::string::npos);
}

}  // namespace
}  // namespace onnx_cudnn
