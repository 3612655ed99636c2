#include "tests/kernels/operator_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
           "| Det | 11, 22 | floats | kernel |",
           "| com.microsoft.Inverse | 1 | f32, f16, f64 | kernel |",
           "| DFT | 17, 20 | floats | host |",
           "| ConstantOfShape | 9, 20, 21, 23, 24, 25 | i64 | kernel |",
           "| Trilu | 14 | floats, integers, complex, bool | kernel |",
           "| NonMaxSuppression | 10, 11 | f32 | bounded: kernel |",
           "| StringConcat | 20 | string | between Programs |",
       }) {
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  }
  const std::pair<const char*, const char*> engines[] = {{"| Einsum |", "f64: expanded: kernel"},
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

// The lists behind the table; by hand, as above.
TEST(OperatorTableTest, ListsOpsWithoutDefinitionByWhatBecomesOfThem) {
  const std::string page = OperatorPage();
  const std::pair<const char*, std::vector<const char*>> lists[] = {
      {"## Expanded by ONNX's own function", {"AffineGrid", "SwiGLU"}},
      {"## Replaced at import",
       {"Constant", "ai.onnx.preview.FlexAttention", "ai.onnx.preview.training.Adam",
        "ai.onnx.preview.training.Gradient", "com.microsoft.QLinearAdd"}},
      {"## Run between Programs", {"Loop", "SequenceMap", "SplitToSequence", "ai.onnx.ml.ZipMap"}}};
  for (const auto& [title, ops] : lists) {
    const size_t begin = page.find(title);
    ASSERT_NE(begin, std::string::npos) << title;
    const std::string section = page.substr(begin, page.find("\n##", begin) - begin);
    for (const char* op : ops) {
      EXPECT_TRUE(std::regex_search(section, std::regex(absl::StrCat("[ \n]", op, "[,.]"))))
          << op << " in " << section;
    }
  }
  EXPECT_EQ(page.find("## Not supported"), std::string::npos);
}

}  // namespace
}  // namespace onnx_cudnn
