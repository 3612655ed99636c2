// What the shared library exports, and the example that is linked to it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

struct Printed {
  int code;
  std::string out;
};

Printed RunCommand(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  Printed printed;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) printed.out.append(buffer, n);
  printed.code = WEXITSTATUS(pclose(pipe));
  return printed;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

TEST(CApiLibraryTest, ExportsItsOwnNamesAlone) {
  const Printed names = RunCommand("nm -D --defined-only --demangle " ONNX_CUDNN_LIBRARY);
  ASSERT_EQ(names.code, 0);
  int c_names = 0, cpp_names = 0;
  std::istringstream lines(names.out);
  for (std::string line; std::getline(lines, line);) {
    const size_t kind = line.find(' ') + 1;  // "0123 T onnx_cudnn_version"
    const std::string name = line.substr(kind + 2);
    if (StartsWith(name, "onnx_cudnn::")) {
      ++cpp_names;
    } else {
      EXPECT_TRUE(StartsWith(name, "onnx_cudnn_")) << line;
      ++c_names;
    }
    EXPECT_EQ(line[kind], 'T') << line;  // a function that nothing else replaces
    EXPECT_EQ(name.find("Impl::"), std::string::npos) << line;
    EXPECT_EQ(name.find("c_api"), std::string::npos) << line;
  }
  EXPECT_GE(c_names, 30);
  EXPECT_GE(cpp_names, 30);
}

TEST(CApiLibraryTest, ExampleRuns) {
  const std::string model = testing::TempDir() + "/c_api_example.onnx";
  std::ofstream(model, std::ios::binary) << ReluModel();
  const Printed printed = RunCommand(RUN_MODEL_C " " + model);
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(printed.out, "3\n0\n");
  EXPECT_EQ(RunCommand(RUN_MODEL_C " /nowhere/model.onnx 2>&1").code, 1);
}

}  // namespace
}  // namespace onnx_cudnn
