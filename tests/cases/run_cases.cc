// run_cases --modes: the modes that this build has, a line each.
// run_cases FOLDER FIRST STEP MODE...: runs every STEP-th case of FOLDER/cases.tsv (name, relative,
// of_largest and units of its tolerance) from the FIRST one on, in each mode. A line each:
//   name<TAB>mode<TAB>pass, wrong, or the error's exit code<TAB>message
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/cases/emulated.h"
#include "tests/onnx_backend/run_vector.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

using Mode = Outcome (*)(const TestVector&);

SessionOptions OnCpu() {
  return {.device = DeviceChoice::kCpu, .precision = PrecisionChoice::kStrict};
}

SessionOptions ForH200(PartitionerChoice partitioner) {
  SessionOptions options = OnCpu();
  options.target = "h200";
  options.partitioner = partitioner;
  return options;
}

std::map<std::string, Mode> Modes() {
  std::map<std::string, Mode> modes = {
      {"cpu", [](const TestVector& v) { return RunVector(v, OnCpu()); }},
      {"h200-greedy",
       [](const TestVector& v) { return RunVector(v, ForH200(PartitionerChoice::kGreedy)); }},
      {"h200-cost",
       [](const TestVector& v) { return RunVector(v, ForH200(PartitionerChoice::kCost)); }},
  };
  if (kHasEmulator) modes["emulator"] = RunEmulated;
  return modes;
}

std::string Word(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::kPass) return "pass";
  if (!outcome.refused) return "wrong";
  return absl::StrCat(ExitCodeOf(ToStatus(Error{*outcome.refused, outcome.message})));
}

// Empty: the line is not a case.
std::optional<TestVector> CaseOf(const std::string& folder, const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, '\t');
  if (words.size() != 4) return std::nullopt;
  VectorTolerance tolerance = {.absolute = 1e-37};  // what is smaller may be cut to 0
  if (!absl::SimpleAtod(words[1], &tolerance.relative) ||
      !absl::SimpleAtod(words[2], &tolerance.of_largest) ||
      !absl::SimpleAtod(words[3], &tolerance.units))
    return std::nullopt;
  const std::string path = absl::StrCat(folder, "/", words[0]);
  return TestVector{.name = words[0],
                    .model = path + "/model.onnx",
                    .data_sets = {path + "/test_data_set_0"},
                    .tolerance = tolerance};
}

int RunAll(const std::string& folder, int first, int step, absl::Span<char* const> asked) {
  const std::map<std::string, Mode> modes = Modes();
  std::ifstream file(folder + "/cases.tsv");
  std::string line;
  for (int i = 0; std::getline(file, line); ++i) {
    if (i < first || (i - first) % step != 0) continue;
    const std::optional<TestVector> vector = CaseOf(folder, line);
    if (!vector) return 1;
    for (const char* name : asked) {
      const auto mode = modes.find(name);
      if (mode == modes.end()) return 1;
      const Outcome outcome = mode->second(*vector);
      std::cout << vector->name << '\t' << name << '\t' << Word(outcome) << '\t'
                << absl::StrReplaceAll(outcome.message, {{"\n", " "}, {"\t", " "}}) << std::endl;
    }
  }
  return 0;
}

int Main(int argc, char** argv) {
  const absl::Span<char* const> words(argv, argc);
  if (argc == 2 && std::string_view(words[1]) == "--modes") {
    for (const auto& [name, mode] : Modes()) std::cout << name << '\n';
    return 0;
  }
  int first = 0, step = 0;
  if (argc < 5 || !absl::SimpleAtoi(words[2], &first) || !absl::SimpleAtoi(words[3], &step) ||
      step < 1)
    return 1;
  return RunAll(words[1], first, step, words.subspan(4));
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) { return onnx_cudnn::Main(argc, argv); }
