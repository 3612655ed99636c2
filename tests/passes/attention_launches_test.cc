// How many launches the ops of attention take, from a file to partitions: ONNX's and onnxruntime's.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "passes/explain/explanation.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/import/expand_function.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using InputValues = std::map<std::string, HostTensor, std::less<>>;

// Each as its engine and ops.
std::vector<std::string> LaunchesOf(std::string_view text, std::string_view on = "h200",
                                    InputValues values = {}) {
  const absl::StatusOr<OwnedTarget> owned = MakeTarget(on);
  EXPECT_TRUE(owned.ok()) << owned.status();
  Graph graph = GraphFromText(text);
  PassContext context{.target = &owned->target};
  EXPECT_TRUE(RunPasses(graph, MakePipeline(2), {}, context).ok());
  const absl::StatusOr<Explanation> explanation = Explain(
      graph, {}, owned->target, {.input_values = std::move(values), .functions = &kOnnxFunctions});
  EXPECT_TRUE(explanation.ok()) << explanation.status();
  std::vector<std::string> launches;
  for (const PartitionReport& p : explanation->partitions) {
    if (p.launches) launches.push_back(absl::StrCat(p.engine, " ", absl::StrJoin(p.ops, " ")));
  }
  return launches;
}

// Expects one Attention, with its products and its Softmax, all on the GPU.
void ExpectOneAttention(const std::vector<std::string>& launches, size_t most) {
  const auto with = [&](std::string_view word) {
    return std::count_if(launches.begin(), launches.end(), [&](const std::string& launch) {
      return launch.find(word) != std::string::npos;
    });
  };
  const std::string all = absl::StrJoin(launches, "\n");
  EXPECT_EQ(with("Attention"), 1) << all;
  EXPECT_EQ(with("Softmax") + with("host"), 0) << all;
  EXPECT_LE(launches.size(), most) << all;
}

std::string Heads(std::string_view channels, std::string_view node) {
  const std::string rows = absl::StrCat("float16[1,8,64,", channels, "] ");
  return absl::StrCat("g (", rows, "q, ", rows, "k, ", rows,
                      "v, bool[1,1,64,64] b, float16[1,1,64,64] m) => (y) { ", node, " }");
}

// Our kernel for few keys takes them, although its price is a guess there.
TEST(AttentionLaunchesTest, WideHeadsRunOnTheGpu) {
  for (const char* channels : {"144", "160", "256"}) {
    const std::string head =
        "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) p = Softmax(c) y = MatMul(p, v)";
    for (const std::string& nodes : {std::string("y = Attention(q, k, v)"), head}) {
      ExpectOneAttention(LaunchesOf(Heads(channels, nodes)), 1);
    }
  }
}

TEST(AttentionLaunchesTest, FormsOfTheOp) {
  for (const char* target : {"h200", "a100", "l4"}) {
    const auto expect = [&](std::string_view node, size_t most) {
      ExpectOneAttention(LaunchesOf(Heads("64", node), target), most);
    };
    expect("y = Attention(q, k, v)", 1);
    expect("y = Attention<is_causal = 1>(q, k, v)", 1);
    expect("y = Attention(q, k, v, b)", 2);
    expect("y = Attention<is_causal = 1>(q, k, v, m)", 2);
    ExpectOneAttention(
        LaunchesOf("g (float16[1,64,512] q, float16[1,64,128] k, float16[1,64,128] v, "
                   "bool[64,64] b) => (y) "
                   "{ y = Attention<q_num_heads = 8, kv_num_heads = 2>(q, k, v, b) }",
                   target),
        3);
    ExpectOneAttention(
        LaunchesOf("g (float16[1,8,1,64] q, float16[1,8,1,64] k, float16[1,8,1,64] v, "
                   "float16[1,8,63,64] a, float16[1,8,63,64] b) => (y, c, d) "
                   "{ y, c, d = Attention(q, k, v, , a, b) }",
                   target),
        3);
    for (const char* queries : {"1", "64"}) {
      ExpectOneAttention(
          LaunchesOf(absl::StrCat("g (float16[2,8,", queries,
                                  ",64] q, float16[2,8,512,64] k, float16[2,8,512,64] v, "
                                  "int64[2] n) => (y) { y = Attention(q, k, v, , , , n) }"),
                     target),
          2);
    }
  }
}

// Of onnxruntime.
std::string Contrib(std::string_view border, std::string_view node) {
  return absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\ng (",
                      border, " { ", node, " }");
}

TEST(AttentionLaunchesTest, MultiHeadAttention) {
  const auto expect = [](std::string_view more, std::string_view inputs, size_t most,
                         std::string_view attribute = "") {
    ExpectOneAttention(
        LaunchesOf(Contrib(absl::StrCat("float16[1,64,512] q, float16[1,64,512] k, "
                                        "float16[1,64,512] v",
                                        more, ") => (float16[1,64,512] y)"),
                           absl::StrCat("y = com.microsoft.MultiHeadAttention<num_heads = 8",
                                        attribute, ">(", inputs, ")"))),
        most);
  };
  expect("", "q, k, v", 2);
  expect("", "q, k, v", 2, ", unidirectional = 1");
  expect(", float16[1536] b", "q, k, v, b", 5);
  expect(", int32[1,64] m", "q, k, v, , m", 4);
  expect(", float16[1,8,64,64] m", "q, k, v, , , m", 3);
  ExpectOneAttention(LaunchesOf(Contrib("float16[1,64,8,3,64] q) => (float16[1,64,512] y)",
                                        "y = com.microsoft.MultiHeadAttention<num_heads = 8>(q)")),
                     2);
}

TEST(AttentionLaunchesTest, PackedAttentionOfOnnxruntime) {
  ExpectOneAttention(
      LaunchesOf(Contrib("float16[1,64,512] x, float16[512,1536] w, float16[1536] b, "
                         "int32[1,64] m) => (float16[1,64,512] y)",
                         "y = com.microsoft.Attention<num_heads = 8>(x, w, b, m)")),
      5);
}

// Of four sequences, a token each; the pages stay where they are.
TEST(AttentionLaunchesTest, PagedAttentionReadsItsPages) {
  const std::string cache = "float16[512,16,8,64] ", rows = "float16[4,512] ";
  for (const char* attributes : {"", ", do_rotary = 1"}) {
    const std::vector<std::string> launches = LaunchesOf(Contrib(
        absl::StrCat("float16[4,2048] q, ", rows, "k, ", rows, "v, ", cache, "kc, ", cache,
                     "vc, int32[5] ends, int32[4] past, int32[4,128] table, float16[2048,32] c, "
                     "float16[2048,32] s) => (float16[4,2048] y, ",
                     cache, "ck, ", cache, "cv)"),
        absl::StrCat("y, ck, cv = com.microsoft.PagedAttention<num_heads = 32, kv_num_heads = 8",
                     attributes, ">(q, k, v, kc, vc, ends, past, table, c, s)")));
    const std::string_view paged =
        "kernel Gather Reshape Transpose Gather Reshape Transpose Attention";
    EXPECT_EQ(std::count(launches.begin(), launches.end(), paged), 1)
        << absl::StrJoin(launches, "\n");
    ExpectOneAttention(launches, 21);
  }
}

// A prompt without a past and with room for more keys, and one token.
TEST(AttentionLaunchesTest, GroupQueryAttention) {
  const auto launches = [](int queries, int room) {
    const std::string rows = absl::StrCat(queries), cache = absl::StrCat("[1,2,", room, ",64] ");
    const int32_t total = std::max(queries, room);
    return LaunchesOf(
        Contrib(absl::StrCat("float16[1,", rows, ",512] q, float16[1,", rows, ",128] k, float16[1,",
                             rows, ",128] v, float16", cache, "a, float16", cache,
                             "b, int32[1] l, int32 t) => (y, c, d)"),
                "y, c, d = com.microsoft.GroupQueryAttention<num_heads = 8, kv_num_heads = 2>"
                "(q, k, v, a, b, l, t)"),
        "h200", {{"t", HostTensor::Of<int32_t>(DType::kI32, {}, {{total}})}});
  };
  ExpectOneAttention(launches(64, 0), 12);
  ExpectOneAttention(launches(64, 2048), 12);
  ExpectOneAttention(launches(1, 2048), 6);
}

}  // namespace
}  // namespace onnx_cudnn
