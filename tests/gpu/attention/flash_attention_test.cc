// The kernel flash_attention on the GPU against the reference of Attention: lengths beside the
// edges of its tiles, up to 4,096 keys, causal, masks and grouped queries.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class FlashAttentionGpuTest : public KernelTest {
 protected:
  FlashAttentionGpuTest() : KernelTest(kSm90aCode) {}

  // All Nodes as one launch, by flash_attention and the other kernels that take them. `mask`: the
  // numbers of the input m, repeated; a Pattern if it is empty.
  void Check(const std::string& text, const std::vector<double>& mask = {}) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    const std::vector<Candidate> candidates = OfAllNodes(graph, "Attention", target());
    ASSERT_EQ(candidates.size(), 1u);
    ExpectOffered(candidates[0]);
    std::vector<HostTensor> inputs;
    for (const Value* v : graph.inputs()) {
      std::vector<double> numbers =
          Pattern(v->elements(), static_cast<uint32_t>(inputs.size()) + 1);
      if (v->name() == "m" && !mask.empty()) {
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = mask[i % mask.size()];
      }
      inputs.push_back(TensorOf(v->dtype(), v->dims(), numbers));
    }
    const absl::StatusOr<CandidateResult> result = CheckCandidate({.candidate = candidates[0],
                                                                   .target = target(),
                                                                   .device = device(),
                                                                   .constants = constants()},
                                                                  inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
    for (const std::string& refused : result->refused) {
      EXPECT_FALSE(absl::StrContains(refused, "flash_attention")) << refused;
    }
    EXPECT_GT(result->ran, 0);
  }

  // q [1, heads, queries, channels] over k and v [1, shared, keys, channels]; `rest` are more
  // operands, `call` the attributes and operands of Attention.
  void CheckHeads(const std::string& dtype, std::pair<int, int> heads, std::pair<int, int> lengths,
                  int channels, const std::string& rest = "", const std::string& call = "(q, k, v)",
                  const std::vector<double>& mask = {}) {
    Check(absl::Substitute("g ($0[1,$1,$3,$5] q, $0[1,$2,$4,$5] k, $0[1,$2,$4,$5] v$6) => (y) "
                           "{ y = Attention$7 }",
                           dtype, heads.first, heads.second, lengths.first, lengths.second,
                           channels, rest, call),
          mask);
  }

 private:
  void ExpectOffered(const Candidate& candidate) {
    const auto variants = candidate.engine->Variants(candidate, target());
    ASSERT_TRUE(variants.ok()) << variants.status();
    int offered = 0;
    for (const Variant& variant : *variants) offered += variant.text.starts_with("flash_attention");
    EXPECT_GT(offered, 0);
  }
};

// Tiles have 64 queries per warpgroup and 128 keys, or 64 beyond 128 channels.
TEST_F(FlashAttentionGpuTest, LengthsBesideTheEdgesOfTiles) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const int channels : {64, 128, 192, 256}) {
      for (const auto& [queries, keys] : std::vector<std::pair<int, int>>{
               {1, 1}, {7, 63}, {64, 128}, {65, 129}, {128, 127}, {197, 197}, {63, 1500}}) {
        CheckHeads(dtype, {2, 2}, {queries, keys}, channels);
      }
    }
  }
}

TEST_F(FlashAttentionGpuTest, FourThousandKeys) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    CheckHeads(dtype, {2, 2}, {130, 4096}, 64);
    CheckHeads(dtype, {2, 1}, {65, 4095}, 128);
    CheckHeads(dtype, {2, 1}, {130, 4095}, 256);
  }
}

TEST_F(FlashAttentionGpuTest, Causal) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const int channels : {64, 128, 256}) {
      for (const auto& [queries, keys] :
           std::vector<std::pair<int, int>>{{1, 1}, {130, 130}, {257, 257}, {70, 300}, {300, 70}}) {
        CheckHeads(dtype, {2, 2}, {queries, keys}, channels, "", "<is_causal = 1>(q, k, v)");
      }
    }
  }
}

TEST_F(FlashAttentionGpuTest, GroupedQueries) {
  CheckHeads("float16", {8, 2}, {130, 300}, 64);
  CheckHeads("bfloat16", {8, 1}, {65, 129}, 128, "", "<is_causal = 1, scale = 0.3>(q, k, v)");
}

TEST_F(FlashAttentionGpuTest, MasksOfNumbers) {
  for (const char* dims : {"[300]", "[130,300]", "[1,1,1,300]", "[1,4,130,300]", "[130,1]"}) {
    for (const char* type : {"float16", "float"}) {
      CheckHeads("float16", {4, 2}, {130, 300}, 64, absl::StrCat(", ", type, dims, " m"),
                 "(q, k, v, m)");
    }
    for (const int channels : {128, 256}) {
      CheckHeads("bfloat16", {4, 2}, {130, 300}, channels, absl::StrCat(", float", dims, " m"),
                 "<is_causal = 1>(q, k, v, m)");
    }
  }
}

// Whole tiles of keys are excluded, and for some queries every key, which gives zeros.
TEST_F(FlashAttentionGpuTest, MaskedKeys) {
  std::vector<double> mask(130 * 400, 0);
  for (size_t i = 0; i < mask.size(); ++i) {
    const bool is_masked = i % 400 < 260 || i / 400 % 3 == 0;
    if (is_masked) mask[i] = -std::numeric_limits<double>::infinity();
  }
  for (const int channels : {64, 128, 256}) {
    CheckHeads("float16", {2, 2}, {130, 400}, channels, ", float[130,400] m", "(q, k, v, m)", mask);
  }
}

// As exporters write it: batches, and heads that are turned before and behind.
TEST_F(FlashAttentionGpuTest, HeadsWhereTheyLie) {
  for (const char* dims : {"[2,128,12,64]", "[3,197,4,64]", "[2,33,2,128]"}) {
    Check(
        absl::Substitute("g (float16$0 q, float16$0 k, float16$0 v) => (y) "
                         "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
                         "c = Transpose<perm = [0,2,1,3]>(v) d = Attention(a, b, c) "
                         "y = Transpose<perm = [0,2,1,3]>(d) }",
                         dims));
  }
}

}  // namespace
}  // namespace onnx_cudnn
