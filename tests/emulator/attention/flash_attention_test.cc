// Attention in tiles by wgmma: lengths at the edges of tiles, types, masks, causal, shared heads,
// and operands that are read and written where other Nodes place them.
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr double kLowest = -std::numeric_limits<float>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class FlashAttentionTest : public KernelsTest {
 protected:
  // Runs the kernel's largest Candidate with each of its variants; `nodes`: how many Nodes it has.
  // The input "m" has `mask` as its numbers, repeated; a Pattern if it is empty.
  void ExpectRuns(const std::string& text, size_t nodes = 1, std::vector<double> mask = {}) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    bool has_run = false;
    for (const Candidate& candidate : At(graph, "Attention").candidates) {
      if (candidate.nodes.size() != nodes) continue;
      const auto variants = MakeCudaKernels()->Variants(candidate, target_);
      ASSERT_TRUE(variants.ok());
      for (const Variant& variant : *variants) {
        if (!variant.text.starts_with("flash_attention")) continue;
        const auto code = CompileVariant(candidate, variant, target_);
        ASSERT_TRUE(code.ok()) << code.status();
        EXPECT_EQ(emulator::CompareWithReference(
                      code, candidate, InputsOf(candidate, mask),
                      text.find("bfloat16") == std::string::npos ? 2e-3 : 1.6e-2),
                  "")
            << variant.text;
        has_run = true;
      }
    }
    EXPECT_TRUE(has_run);
  }

 private:
  static std::vector<HostTensor> InputsOf(const Candidate& candidate,
                                          const std::vector<double>& mask) {
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
      std::vector<double> numbers = Pattern(v->elements(), seed);
      if (v->name() == "m" && !mask.empty()) {
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = mask[i % mask.size()];
      }
      inputs.push_back(TensorOf(v->dtype(), v->dims(), numbers));
    }
    return inputs;
  }
};

std::string Heads(const std::string& type, const std::string& q, const std::string& k,
                  const std::string& v, const std::string& mask = "",
                  const std::string& attrs = "") {
  return absl::StrCat("g (", type, q, " q, ", type, k, " k, ", type, v, " v",
                      mask.empty() ? "" : absl::StrCat(", ", mask, " m"),
                      ") => (y) { y = Attention", attrs,
                      mask.empty() ? "(q, k, v) }" : "(q, k, v, m) }");
}

TEST_F(FlashAttentionTest, LengthsAndTypes) {
  for (const char* type : {"float16", "bfloat16"}) {
    for (const auto& [queries, keys] : std::vector<std::pair<int, int>>{
             {1, 1}, {64, 128}, {65, 129}, {130, 300}, {63, 127}, {128, 256}}) {
      const std::string k = absl::StrCat("[1,1,", keys, ",64]");
      ExpectRuns(Heads(type, absl::StrCat("[1,1,", queries, ",64]"), k, k));
    }
  }
}

TEST_F(FlashAttentionTest, Channels) {
  for (const auto& [depth, columns] : std::vector<std::pair<int, int>>{
           {8, 8}, {32, 32}, {64, 24}, {72, 64}, {128, 128}, {40, 104}}) {
    ExpectRuns(Heads("float16", absl::StrCat("[1,2,70,", depth, "]"),
                     absl::StrCat("[1,2,140,", depth, "]"),
                     absl::StrCat("[1,2,140,", columns, "]")));
  }
}

// Tiles of 64 keys, and two products for the values.
TEST_F(FlashAttentionTest, HeadsAbove128Channels) {
  ExpectRuns(Heads("float16", "[1,1,70,256]", "[1,1,140,256]", "[1,1,140,256]"));
  ExpectRuns(Heads("bfloat16", "[1,2,9,136]", "[1,1,65,136]", "[1,1,65,200]"));
  ExpectRuns(
      Heads("bfloat16", "[1,1,70,256]", "[1,1,65,256]", "[1,1,65,256]", "", "<is_causal = 1>"));
  for (const char* dims : {"[70]", "[9,70]"}) {
    ExpectRuns(Heads("float16", "[1,1,9,256]", "[1,1,70,256]", "[1,1,70,256]",
                     absl::StrCat("float", dims)));
  }
}

TEST_F(FlashAttentionTest, SharedHeadsBatchesAndScale) {
  ExpectRuns(Heads("float16", "[2,6,20,64]", "[2,2,33,64]", "[2,2,33,64]", "", "<scale = 0.5>"));
  ExpectRuns(Heads("bfloat16", "[2,4,20,64]", "[2,1,33,64]", "[2,1,33,64]"));
}

TEST_F(FlashAttentionTest, Causal) {
  for (const char* form : {"150,64] 150,64]", "70,64] 300,64]", "300,64] 70,64]"}) {
    const std::string text = form;
    const std::string q = "[1,2," + text.substr(0, text.find(' '));
    const std::string k = "[1,2," + text.substr(text.find(' ') + 1);
    ExpectRuns(Heads("float16", q, k, k, "", "<is_causal = 1>"));
    ExpectRuns(Heads("bfloat16", q, k, k, "float[1,1,1,1]", "<is_causal = 1>"));
  }
}

TEST_F(FlashAttentionTest, Masks) {
  for (const char* type : {"float16", "float"}) {
    for (const char* dims : {"[140]", "[9,1]", "[9,140]", "[3,1,140]", "[2,1,1,140]", "[1,3,9,140]",
                             "[2,3,9,1]", "[1]", "[2,1,9,140]"}) {
      ExpectRuns(
          Heads("float16", "[2,3,9,64]", "[2,3,140,64]", "[2,3,140,64]", absl::StrCat(type, dims)));
    }
  }
  ExpectRuns(
      Heads("bfloat16", "[2,1,70,128]", "[2,1,140,128]", "[2,1,140,128]", "bfloat16[2,1,70,140]"));
  ExpectRuns(
      Heads("bfloat16", "[2,1,70,128]", "[2,1,140,128]", "[2,1,140,128]", "bfloat16[2,1,1,140]"));
}

// Keys that are excluded by -infinity or by finite numbers; a query without any key gives zeros or
// the mean of all values.
TEST_F(FlashAttentionTest, MaskedKeys) {
  for (const double number : {-kInfinity, kLowest, -1e4}) {
    for (const char* dims : {"[2,1,1,200]", "[2,1,5,200]"}) {
      const int period = dims[5] == '1' ? 200 : 1000;
      std::vector<double> mask(2 * period, number);  // of the second batch, every key
      for (int i = 0; i < period; ++i) mask[i] = i % 200 < 130 ? number : i % 3;
      ExpectRuns(Heads("float16", "[2,2,5,64]", "[2,2,200,64]", "[2,2,200,64]",
                       absl::StrCat("float", dims)),
                 1, mask);
    }
  }
}

TEST_F(FlashAttentionTest, ReadsAndWritesHeadsWhereTheyLie) {
  ExpectRuns(
      "g (float16[2,40,384] w) => (y) <int64[4] heads = {2, 40, 2, 64}> { "
      "e, f, g = Split<axis = 2, num_outputs = 3>(w) "
      "h = Reshape(e, heads) q = Transpose<perm = [0,2,1,3]>(h) "
      "i = Reshape(f, heads) k = Transpose<perm = [0,2,1,3]>(i) "
      "j = Reshape(g, heads) v = Transpose<perm = [0,2,1,3]>(j) "
      "a = Attention(q, k, v) y = Transpose<perm = [0,2,1,3]>(a) }",
      9);
}

}  // namespace
}  // namespace onnx_cudnn
