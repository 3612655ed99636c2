// Launches of transformers that no library offers, and the products of one token of a language
// model, next to a copy of as many bytes.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/gpu/speed_fixture.h"

namespace onnx_cudnn {
namespace {

// The least shares are below those of kernels-2026-11-28-d380155.json. Sums, masks and rows of 197
// are meant to be faster since.
std::vector<SpeedCase> RowGroupSpeedCases() {
  return {
      {.name = "residual and layer norm",
       .text = "g (T[32768,1024] x, T[32768,1024] z, T[1024] s, T[1024] b) => (r, y) "
               "{ r = Add(x, z) y = LayerNormalization<axis = -1>(r, s, b) }",
       .anchor = "LayerNormalization",
       .least_share = 0.5},
      {.name = "mask and softmax",
       .text = "g (T[32768,1024] x, T[1,1024] m) => (y) { a = Add(x, m) y = Softmax(a) }",
       .anchor = "Softmax",
       .least_share = 0.35},
      {.name = "mask and softmax of rows that are no whole vectors",
       .text = "g (T[131072,197] x, T[1,197] m) => (y) { a = Add(x, m) y = Softmax<axis = -1>(a) }",
       .anchor = "Softmax",
       .least_share = 0.13},
      {.name = "scale, mask over heads and softmax",
       .text = "g (T[32,12,384,384] x, T[32,1,1,384] m) => (y) <T[1] c = {12288}> "
               "{ k = Mul(x, c) a = Add(k, m) y = Softmax(a) }",
       .anchor = "Softmax",
       .dtypes = {"float16"},
       .least_share = 0.35},
      {.name = "softmax of its parts",
       .text = "g (T[32768,1024] x) => (y) <int64[1] last = {1}> { m = ReduceMax(x, last) "
               "a = Sub(x, m) e = Exp(a) s = ReduceSum(e, last) y = Div(e, s) }",
       .anchor = "ReduceMax",
       .least_share = 0.1},
  };
}

std::vector<SpeedCase> TransformerSpeedCases() {
  const std::vector<std::string> half = {"float16"};
  const std::string cache =
      "g (T[16,32,1,64] q, T[16,8,$0,64] k, T[16,8,$0,64] v) => (y) { y = Attention(q, k, v) }";
  return {
      {.name = "rotary of queries and keys",
       .text =
           "g (T[32,512,3072] w, T[1,1,512,64] c, T[1,1,512,64] s) => (y, z) "
           "<int64[1] zero = {0}, int64[1] half = {32}, int64[1] all = {64}, int64[1] last = {-1}, "
           "int64[1] one = {2048}, int64[1] two = {2560}, int64[1] axis = {2}, "
           "int64[4] heads = {32, 512, 32, 64}, int64[4] shared = {32, 512, 8, 64}> "
           "{ e = Slice(w, zero, one, axis) f = Reshape(e, heads) "
           "q = Transpose<perm = [0,2,1,3]>(f) g = Slice(w, one, two, axis) "
           "i = Reshape(g, shared) k = Transpose<perm = [0,2,1,3]>(i) "
           "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(h) "
           "r = Concat<axis = -1>(n, l) a = Mul(q, c) d = Mul(r, s) y = Add(a, d) "
           "l2 = Slice(k, zero, half, last) h2 = Slice(k, half, all, last) n2 = Neg(h2) "
           "r2 = Concat<axis = -1>(n2, l2) a2 = Mul(k, c) d2 = Mul(r2, s) z = Add(a2, d2) }",
       .anchor = "Concat",
       .dtypes = half,
       .least_share = 0.3},
      {.name = "decode attention of 2048 keys",
       .text = absl::Substitute(cache, 2048),
       .anchor = "Attention",
       .dtypes = half,
       .least_share = 0.4},
      {.name = "decode attention of 8192 keys",
       .text = absl::Substitute(cache, 8192),
       .anchor = "Attention",
       .dtypes = half,
       .least_share = 0.4},
      {.name = "depthwise 7x7 and layer norm",
       .text = "g (T[64,96,56,56] x, T[96,1,7,7] w, T[96] wb, T[96] ws, T[96] wt) => (y) "
               "{ c = Conv<group = 96, pads = [3,3,3,3]>(x, w, wb) "
               "t = Transpose<perm = [0,2,3,1]>(c) "
               "y = LayerNormalization<axis = -1>(t, ws, wt) }",
       .anchor = "Conv",
       .dtypes = half,
       .least_share = 0.1,
       .has_weights = true},
  };
}

TEST_F(SpeedTest, RowGroups) { MeasureAll(RowGroupSpeedCases()); }

TEST_F(SpeedTest, LaunchesOfTransformers) { MeasureAll(TransformerSpeedCases()); }

// Products with a constant matrix, in f16 or in blocks of four bits as MatMulNBits has them.
struct DecodeProduct {
  std::string name;
  int64_t depth, columns;
  bool is_gated = false;  // two of them, and Swish of one times the other
};
const std::vector<DecodeProduct>& DecodeProducts() {
  static const auto& products =
      *new std::vector<DecodeProduct>{{"qkv", 2048, 3072},
                                      {"out", 2048, 2048},
                                      {"gate and up", 2048, 8192, /*is_gated=*/true},
                                      {"down", 8192, 2048},
                                      {"head", 2048, 32000}};
  return products;
}

class DecodeSpeedTest : public SpeedTest {
 protected:
  static constexpr int64_t kBlock = 32;     // weights of a scale
  static constexpr int kManyLaunches = 20;  // of a few µs each
  static constexpr int64_t kBeyondL2 = 512 << 20;

  void MeasureRows(const DecodeProduct& product, int64_t rows, bool is_4bit, double least_share) {
    const Graph graph = is_4bit ? Of4Bits(product, rows) : OfF16(product, rows);
    const std::string name = absl::StrCat("decode ", product.name, ", rows: ", rows);
    SCOPED_TRACE(name);
    const std::vector<Candidate> candidates = OfAllNodes(graph, "MatMul", target());
    ASSERT_EQ(candidates.size(), 1u);
    Speed best{.bytes = BytesOf(candidates[0])};
    for (const Value* v : BoundaryOf(candidates[0].nodes).constants) {
      best.bytes += v->constant().bytes();
    }
    const auto variants = candidates[0].engine->Variants(candidates[0], target());
    ASSERT_TRUE(variants.ok()) << variants.status();
    for (const Variant& variant : *variants) {
      if (!variant.text.starts_with("gemv")) continue;
      const absl::StatusOr<double> us =
          MeasureVariant(candidates[0], variant, kManyLaunches, StepRunner::Constants::kCold);
      ASSERT_TRUE(us.ok()) << us.status();
      if (*us < best.us) best = {.variant = variant.text, .bytes = best.bytes, .us = *us};
    }
    const absl::StatusOr<double> copy_us = CopyUs(kBeyondL2);
    ASSERT_TRUE(copy_us.ok()) << copy_us.status();
    const double share_of_bytes = static_cast<double>(best.bytes) / kBeyondL2;
    best.share_of_copy = share_of_bytes * *copy_us / best.us;
    Record(name, is_4bit ? "int4" : "float16", candidates[0], best);
    EXPECT_GE(best.share_of_copy, least_share) << records().back();
  }

 private:
  // `weights` are inputs of the graph and the Nodes that make the matrix $0 out of them.
  static std::string Text(const DecodeProduct& product, int64_t rows, std::string_view inputs,
                          std::string_view matrix, std::string_view nodes) {
    const auto both = [&](std::string_view text, std::string_view between) {
      const std::string first =
          absl::Substitute(text, "a", product.depth, product.columns, product.depth / kBlock);
      if (!product.is_gated) return first;
      return absl::StrCat(
          first, between,
          absl::Substitute(text, "b", product.depth, product.columns, product.depth / kBlock));
    };
    const std::string end =
        product.is_gated
            ? absl::Substitute("c = MatMul(x, $0) s = Swish(c) d = MatMul(x, $1) y = Mul(s, d)",
                               absl::Substitute(matrix, "a"), absl::Substitute(matrix, "b"))
            : absl::Substitute("y = MatMul(x, $0)", absl::Substitute(matrix, "a"));
    return absl::Substitute("g (float16[$0,$1] x, $2) => (y) { $3 $4 }", rows, product.depth,
                            both(inputs, ", "), both(nodes, " "), end);
  }
  static Graph OfF16(const DecodeProduct& product, int64_t rows) {
    return GraphWithWeights(Text(product, rows, "float16[$1,$2] w$0", "w$0", ""));
  }
  static Graph Of4Bits(const DecodeProduct& product, int64_t rows) {
    Graph graph = GraphWithWeights(
        Text(product, rows, "uint4[$2,$1] q$0, float16[$2,$3] ws$0, uint4[$2,$3] z$0", "t$0",
             "u$0 = DequantizeLinear<axis = 1, block_size = 32>(q$0, ws$0, z$0) "
             "t$0 = Transpose<perm = [1,0]>(u$0)"));
    for (int i = static_cast<int>(graph.inputs().size()) - 1; i >= 0; --i) {
      Value& input = *graph.inputs()[i];
      if (input.dtype() != DType::kU4) continue;
      HostTensor numbers = HostTensor::Allocate(input.dtype(), input.dims());
      const int eights = 0x88;  // the usual zero points
      std::fill_n(static_cast<uint8_t*>(numbers.mutable_raw()), numbers.bytes(), eights);
      graph.ReplaceAllUses(input, graph.AddConstant(std::move(numbers)));
      graph.RemoveInput(i);
    }
    return graph;
  }
};

// Measured on an H100 for products of 2,048 and 8,192: 0.60 to 1.06
// (rivals-decode-2026-11-26-62de6e2.json). Launches of 2 to 4 µs leave less of a faster copy.
TEST_F(DecodeSpeedTest, ProductsOfHalves) {
  for (const DecodeProduct& product : DecodeProducts()) {
    for (const int64_t rows : {1, 4, 16}) {
      MeasureRows(product, rows, /*is_4bit=*/false, /*least_share=*/0.4);
    }
  }
}

TEST_F(DecodeSpeedTest, ProductsOfFourBits) {  // not measured yet
  for (const DecodeProduct& product : DecodeProducts()) {
    for (const int64_t rows : {1, 4, 16}) {
      MeasureRows(product, rows, /*is_4bit=*/true, /*least_share=*/0.1);
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
