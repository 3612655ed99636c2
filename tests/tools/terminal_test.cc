// Terminal output for a model, a label file and a path that contain control characters.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/printable.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

constexpr char kInput[] = "x标\xc2\x9b[2J", kMiddle[] = "t\xff", kOutput[] = "y\u202egnp";
constexpr char kSymbol[] = "N\x1b[31m\nmodel   forged";

class TerminalTest : public ProgramsTest {
 protected:
  void SetUp() override {
    ProgramsTest::SetUp();
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*ModelBytesFromText(R"(
        g (float[N,4] x) => (float[N,4] y) {
          t = Relu(x)
          y = Softmax(t)
        })")));
    model.set_doc_string("\x1b[31mdoc");
    model.set_producer_name("\x1b[31mproducer");
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_doc_string("\x1b[31mdoc");
    for (auto* value : {graph.mutable_input(0), graph.mutable_output(0)}) {
      auto& dims = *value->mutable_type()->mutable_tensor_type()->mutable_shape();
      dims.mutable_dim(0)->set_dim_param(kSymbol);
      value->set_doc_string("\x1b[31mdoc");
    }
    graph.mutable_input(0)->set_name(kInput);
    graph.mutable_output(0)->set_name(kOutput);
    onnx::NodeProto &relu = *graph.mutable_node(0), &softmax = *graph.mutable_node(1);
    relu.set_input(0, kInput);
    relu.set_output(0, kMiddle);
    relu.set_name("relu\u2066\u200f");
    relu.set_doc_string("\x1b[31mdoc");
    softmax.set_input(0, kMiddle);
    softmax.set_output(0, kOutput);
    softmax.set_name("softmax\xc2\x85");
    Write("m\x1b]0;title\a.onnx", model.SerializeAsString());
    Write("labels.txt",
          "\xef\xbb\xbf\x1b[31mred\r\n标签\r\n\u202ebidi\n\x9b"
          "1m\n");
  }
  // Runs a command and checks that its output contains no control characters; m*.onnx is the model.
  Ended RunPrintable(std::string_view program, std::string_view arguments) {
    const Ended ended = Run(program, arguments);
    EXPECT_EQ(Printable(ended.out, Escaped::kLines), ended.out) << arguments;
    EXPECT_EQ(Printable(ended.err, Escaped::kLines), ended.err) << arguments;
    EXPECT_FALSE(absl::StrContains(ended.out, "\nmodel   forged")) << ended.out;
    return ended;
  }
  static void ExpectHolds(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
    }
  }
};

TEST_F(TerminalTest, RunShowsNamesAndLabelsAsLetters) {
  const Ended ended = RunPrintable(
      ONNX_CUDNN_RUN, "m*.onnx --shape 1x4 --top 4 --labels labels.txt --runs 1 --verbose");
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectHolds(ended.out, {"model   m\\x1b]0;title\\x07.onnx\n", "input   x标\\u{9b}[2J f32[1,4]",
                          "output  y\\u{202e}gnp f32[1,4]", "  \\x1b[31mred\n", "  标签\n",
                          "  \\u{202e}bidi\n", "  \\x9b1m\n"});
}

TEST_F(TerminalTest, ErrorsShowNamesAsLetters) {
  const Ended shape = RunPrintable(ONNX_CUDNN_RUN, "m*.onnx --shape 1x5");
  ExpectFails(shape, 2, "x标\\u{9b}[2J f32[N\\x1b[31m\\x0amodel   forged,4]");
  ExpectFails(RunPrintable(ONNX_CUDNN_RUN, "m*.onnx --verify $(printf '\\033]0;none')"), 2,
              "\\x1b]0;none");
  ExpectFails(RunPrintable(ONNX_CUDNN_OPT, "$(printf '\\033]0;none')"), 2, "\\x1b]0;none");
}

TEST_F(TerminalTest, JsonStaysJson) {
  const Ended ended = RunPrintable(
      ONNX_CUDNN_RUN, "m*.onnx --shape 1x4 --top 4 --labels labels.txt --runs 1 --json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["inputs"][0]["name"], kInput);
  EXPECT_EQ(json["outputs"][0]["name"], kOutput);
  EXPECT_EQ(json["model"], "m\x1b]0;title\a.onnx");
}

TEST_F(TerminalTest, OptShowsNamesAsLetters) {
  const Ended passes = RunPrintable(ONNX_CUDNN_OPT, "m*.onnx --remarks --print");
  EXPECT_EQ(passes.code, 0) << passes.err;
  ExpectHolds(passes.out, {"x标\\u{9b}[2J", "y\\u{202e}gnp", "N\\x1b[31m\\x0amodel   forged"});
  const Ended explained =
      RunPrintable(ONNX_CUDNN_OPT, "m*.onnx --explain --target h200 --verbose --json why.json");
  EXPECT_EQ(explained.code, 0) << explained.err;
  ExpectHolds(explained.out, {"x标\\u{9b}[2J", "relu\\u{2066}\\u{200f}"});
  const std::string written = *ReadFile(Path("why.json"), 1 << 20);
  EXPECT_EQ(Printable(written, Escaped::kLines), written);
  EXPECT_TRUE(nlohmann::json::accept(written));
}

TEST_F(TerminalTest, BenchShowsNamesAsLetters) {
  const Ended ended = RunPrintable(
      ONNX_CUDNN_BENCH, "m*.onnx --device cpu --runs 1 --warm-up 0 --seconds 0 --precisions auto");
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectHolds(ended.err, {"m\\x1b]0;title\\x07"});
  EXPECT_EQ(nlohmann::json::parse(ended.out)[0]["model"], "m\x1b]0;title\a");
}

TEST_F(TerminalTest, PlanCachesAreListedAsLetters) {
  Write("plans.json", R"({"format": "onnx-cudnn plan cache 1", "entries": [{"device": "h200",
      "signature": "s", "engine": "cudnn", "variant": "\u001b[31mred", "us": 1,
      "workspace_bytes": 0, "checked": true, "versions": {"engine": "9", "driver": "1",
      "cuda": "13"}, "date": "2026-11-22"}]})");
  const Ended ended = RunPrintable(ONNX_CUDNN_OPT, "--plan-cache plans.json --cache-list");
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectHolds(ended.out, {"\\x1b[31mred"});
}

}  // namespace
}  // namespace onnx_cudnn
