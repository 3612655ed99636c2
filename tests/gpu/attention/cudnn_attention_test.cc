// cuDNN's attention against the reference of Attention.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class CudnnAttentionTest : public KernelTest {
 protected:
  // cuDNN's largest Candidate around the Attention of `graph`; expects that there is one.
  Candidate Largest(const Graph& graph) const {
    Candidate largest;
    for (const Engine* engine : target().engines) {
      if (engine->name() != "cudnn") continue;
      for (Candidate& c :
           ProposedBy(*engine, graph, FindNode(graph, "Attention"), target()).candidates) {
        if (c.nodes.size() > largest.nodes.size()) largest = std::move(c);
      }
    }
    EXPECT_EQ(largest.nodes.size(), graph.TopologicalOrder().size());
    return largest;
  }
  void CheckOne(const std::string& text) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    EXPECT_GT(CheckAll(graph, {Largest(graph)}, target()), 0);
  }
  void Check(const std::string& text) {
    for (const char* dtype : {"float16", "bfloat16"}) {
      CheckOne(absl::StrReplaceAll(text, {{"T[", absl::StrCat(dtype, "[")}}));
    }
  }
  // Two queries, 64 keys and a mask m that is an input or a constant. An input holds `number` for
  // all keys of the first query, 0 for the others.
  void ExpectRight(std::string_view input, std::string_view constant, double number = 0) {
    const Graph graph = GraphFromText(
        absl::StrCat("g (float16[1,1,2,64] q, float16[1,1,64,64] k, float16[1,1,64,64] v", input,
                     ") => (float16[1,1,2,64] y) <", constant, "> { y = Attention(q, k, v, m) }"));
    std::vector<double> mask(2 * 64, 0);
    std::fill_n(mask.begin(), 64, number);
    std::vector<HostTensor> tensors;
    for (const Value* v : graph.inputs()) {
      const bool is_mask = v->name() == "m";
      tensors.push_back(TensorOf(v->dtype(), v->dims(),
                                 is_mask ? mask : Pattern(v->elements(), tensors.size() + 1)));
    }
    const absl::StatusOr<CandidateResult> result = CheckCandidate({.candidate = Largest(graph),
                                                                   .target = target(),
                                                                   .device = device(),
                                                                   .constants = constants()},
                                                                  tensors);
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) {
      for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
      EXPECT_GT(result->ran, 0);
    }
  }
};

constexpr char kTurned[] =
    "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
    "c = Transpose<perm = [0,2,1,3]>(v) d = Attention(a, b, c) "
    "y = Transpose<perm = [0,2,1,3]>(d) }";

TEST_F(CudnnAttentionTest, WithStrides) {
  for (const char* dims : {"[2,128,12,64]", "[3,197,4,64]", "[1,49,3,32]", "[2,33,2,128]"}) {
    Check(absl::StrCat("g (T", dims, " q, T", dims, " k, T", dims, " v) => (y) ", kTurned));
  }
}

TEST_F(CudnnAttentionTest, OfOtherLengths) {
  Check("g (T[2,4,5,8] q, T[2,4,7,8] k, T[2,4,7,24] v) => (y) { y = Attention(q, k, v) }");
  Check("g (T[1,4,1,64] q, T[1,4,300,64] k, T[1,4,300,64] v) => (y) { y = Attention(q, k, v) }");
}

TEST_F(CudnnAttentionTest, CausalWithSharedHeads) {
  for (const char* length : {"64", "130", "300"}) {
    Check(absl::StrCat("g (T[2,8,", length, ",64] q, T[2,2,", length, ",64] k, T[2,2,", length,
                       ",64] v) => (y) { y = Attention<is_causal = 1, scale = 0.3>(q, k, v) }"));
  }
}

TEST_F(CudnnAttentionTest, WithMasks) {
  const std::string heads =
      "g (float16[2,4,40,64] q, float16[2,4,72,64] k, float16[2,4,72,64] v, float16";
  for (const char* mask : {"[2,1,1,72]", "[40,72]", "[2,4,40,72]"}) {
    CheckOne(absl::StrCat(heads, mask, " m) => (y) { y = Attention(q, k, v, m) }"));
  }
  std::vector<int> numbers(72);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i % 5) - 4;
  Check(absl::StrCat("g (T[2,4,40,64] q, T[2,4,72,64] k, T[2,4,72,64] v) => (y) ",
                     "<float[1,1,1,72] m = {", absl::StrJoin(numbers, ","),
                     "}> { y = Attention(q, k, v, m) }"));
}

// The op gives zeros for a query that sees no key.
TEST_F(CudnnAttentionTest, AQueryWithoutKeysGivesZeros) {
  ExpectRight(", float16[2,64] m", "", -std::numeric_limits<double>::infinity());
}

// A number that excludes all keys but is finite: the mean of all values.
TEST_F(CudnnAttentionTest, AnEqualMaskForAllKeysGivesTheMean) {
  const std::string numbers =
      absl::StrCat(absl::StrJoin(std::vector<std::string>(64, "-1e30"), ","), ",",
                   absl::StrJoin(std::vector<std::string>(64, "0"), ","));
  ExpectRight("", absl::StrCat("float[2,64] m = {", numbers, "}"));
}

}  // namespace
}  // namespace onnx_cudnn
