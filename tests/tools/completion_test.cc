// Completion scripts and man pages of the programs, used by the shells and by groff.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

using Lines = std::vector<std::string>;

class CompletionTest : public ProgramsTest {
 protected:
  static const std::map<std::string, std::string>& Programs() {
    static const auto& programs =
        *new std::map<std::string, std::string>{{"onnx-cudnn-run", ONNX_CUDNN_RUN},
                                                {"onnx-cudnn-opt", ONNX_CUDNN_OPT},
                                                {"onnx-cudnn-bench", ONNX_CUDNN_BENCH}};
    return programs;
  }
  bool Has(std::string_view command) {
    return Run(absl::StrCat("command -v ", command), ">tool").code == 0;
  }
  // What bash offers for the last of the words after the program's name.
  Lines Completed(const std::string& program, const Lines& words) {
    std::string list;
    for (const std::string& word : words) absl::StrAppend(&list, " '", word, "'");
    std::string function = absl::StrCat("_", program);
    std::replace(function.begin(), function.end(), '-', '_');
    Write("complete.sh",
          absl::StrCat("source <('", Programs().at(program), "' --print-completion=bash)\n",
                       "COMP_WORDS=(", program, list, ")\nCOMP_CWORD=", words.size(), "\n",
                       function, "\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"));
    const Ended ended = Run("bash", "complete.sh");
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return absl::StrSplit(ended.out, '\n', absl::SkipEmpty());
  }
  // The values of flags, as the script for bash offers them.
  std::map<std::string, Lines> Choices(const std::string& program) {
    std::map<std::string, Lines> choices;
    std::string flag;
    const Ended ended = Run(Programs().at(program), "--print-completion=bash");
    for (std::string_view line : absl::StrSplit(ended.out, '\n')) {
      if (absl::StartsWith(line, "    --") && absl::EndsWith(line, ")")) {
        flag = line.substr(4, line.size() - 5);
      }
      const size_t begin = line.find("-W \"");
      if (flag.empty() || begin == line.npos || absl::StrContains(flag, '|')) continue;
      line.remove_prefix(begin + 4);
      choices[flag] = absl::StrSplit(line.substr(0, line.find('"')), ' ');
      flag.clear();
    }
    return choices;
  }
};

TEST_F(CompletionTest, BashCompletesFlagsValuesAndFiles) {
  const std::string run = "onnx-cudnn-run";
  const Lines precisions = {"auto", "strict", "tf32", "fp16", "bf16"};
  EXPECT_EQ(Completed(run, {"--prec"}), (Lines{"--precision"}));
  EXPECT_EQ(Completed(run, {"--precision", ""}), precisions);
  EXPECT_EQ(Completed(run, {"--precision", "b"}), (Lines{"bf16"}));
  EXPECT_EQ(Completed(run, {"--precision", "="}), precisions);
  EXPECT_EQ(Completed(run, {"--precision", "=", "f"}), (Lines{"fp16"}));
  EXPECT_EQ(Completed(run, {"shi"}), (Lines{"shift.onnx"}));
  EXPECT_EQ(Completed(run, {"--plan-cache", "shi"}), (Lines{"shift.onnx"}));
  EXPECT_EQ(Completed(run, {"--runs", ""}), Lines());
  EXPECT_EQ(Completed(run, {"--json", "shi"}), (Lines{"shift.onnx"}));
  EXPECT_EQ(Completed("onnx-cudnn-opt", {"--expl"}), (Lines{"--explain"}));
  EXPECT_EQ(Completed("onnx-cudnn-bench", {"--partitioner", "c"}), (Lines{"cost"}));
}

TEST_F(CompletionTest, ThePathsOfFilesMayHoldBlanks) {
  Write("two words.npz", "");
  EXPECT_EQ(Completed("onnx-cudnn-run", {"--verify", "two"}), (Lines{"two words.npz"}));
}

// So that the table of values does not differ from what the programs take.
TEST_F(CompletionTest, EveryOfferedValueIsTaken) {
  for (const auto& [program, path] : Programs()) {
    const auto choices = Choices(program);
    EXPECT_TRUE(choices.contains("--color")) << program;
    for (const auto& [flag, values] : choices) {
      for (const std::string& value : values) {
        const Ended ended = Run(path, absl::StrCat("none.onnx ", flag, "=", value));
        EXPECT_NE(ended.code, 1) << program << " " << flag << "=" << value << ": " << ended.err;
      }
    }
  }
}

TEST_F(CompletionTest, AnotherShellIsUsage) {
  ExpectFails(RunTool("--print-completion=fish"), 1, "expected bash or zsh, found fish");
  ExpectFails(RunTool("--print-completion"), 1, "expected bash or zsh, found ");
}

// Every flag of --help, with dashes.
Lines FlagsIn(std::string_view help) {
  Lines flags;
  help.remove_prefix(help.find("\nFlags:\n"));
  for (std::string_view line : absl::StrSplit(help, '\n')) {
    if (!absl::ConsumePrefix(&line, "  --")) continue;
    flags.push_back(absl::StrCat("--", line.substr(0, line.find(' '))));
  }
  return flags;
}

TEST_F(CompletionTest, ZshReadsItsScript) {
  for (const auto& [program, path] : Programs()) {
    const std::string script = Run(path, "--print-completion=zsh").out;
    EXPECT_TRUE(absl::StartsWith(script, absl::StrCat("#compdef ", program, "\n"))) << script;
    for (const std::string& flag : FlagsIn(Run(path, "--help").out)) {
      const bool is_there = absl::StrContains(script, absl::StrCat(flag, "[")) ||
                            absl::StrContains(script, absl::StrCat(flag, "=["));
      EXPECT_TRUE(is_there) << program << " " << flag;
    }
    // Bash reads the quoting of the one command in it as zsh does.
    Write("script", script);
    EXPECT_EQ(Run("bash -n", "script").err, "");
    if (Has("zsh")) {
      EXPECT_EQ(Run("zsh -n", "script").err, "");
    }
  }
}

TEST_F(CompletionTest, ManPagesHaveEveryFlag) {
  for (const auto& [program, path] : Programs()) {
    const std::string page = Run(path, "--print-man").out;
    EXPECT_TRUE(absl::StartsWith(page, ".TH ONNX-CUDNN-")) << page.substr(0, 200);
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"}) {
      EXPECT_TRUE(absl::StrContains(page, absl::StrCat("\n.SH ", section, "\n"))) << section;
    }
    for (std::string flag : FlagsIn(Run(path, "--help").out)) {
      flag = absl::StrCat("\n.B ", absl::StrJoin(absl::StrSplit(flag, '-'), "\\-"));
      EXPECT_TRUE(absl::StrContains(page, flag)) << program << " " << flag;
    }
  }
}

TEST_F(CompletionTest, GroffReadsManPagesWithoutWarnings) {
  if (!Has("groff")) GTEST_SKIP() << "there is no groff";
  for (const auto& [program, path] : Programs()) {
    Write("page.1", Run(path, "--print-man").out);
    const Ended ended = Run("groff -k -man -Tutf8 -ww -P-cbou", "page.1");
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "") << program;
    EXPECT_TRUE(absl::StrContains(ended.out, "SYNOPSIS")) << ended.out.substr(0, 500);
    EXPECT_TRUE(absl::StrContains(ended.out, "--print-man")) << program;
  }
}

}  // namespace
}  // namespace onnx_cudnn
