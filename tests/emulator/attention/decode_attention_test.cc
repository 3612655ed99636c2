// Attention of few queries over a cache: rows, splits, lengths, types.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/attention/decode_attention.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

struct Shape {
  int64_t batch, heads, kv_heads, queries, keys, channels;
  std::vector<double> lengths;  // empty: all keys count

  std::string ToString() const {
    return absl::StrCat(batch, " ", heads, " ", kv_heads, " ", queries, " ", keys, " ", channels);
  }
};

class DecodeAttentionTest : public KernelsTest {
 protected:
  // `multiprocessors` decides how many blocks share a head.
  std::string Compare(DType dtype, const Shape& s, int multiprocessors, int64_t splits) {
    Graph graph;
    Value& q = Input(graph, dtype, {s.batch, s.heads, s.queries, s.channels});
    Value& k = Input(graph, dtype, {s.batch, s.kv_heads, s.keys, s.channels});
    Value& v = Input(graph, dtype, {s.batch, s.kv_heads, s.keys, s.channels});
    std::vector<Value*> inputs = {&q, &k, &v};
    if (!s.lengths.empty()) {
      inputs.insert(inputs.end(),
                    {nullptr, nullptr, nullptr, &Input(graph, DType::kI64, {s.batch})});
    }
    graph.AddOutput("y", Append(graph, "Attention", inputs, {{"scale", 0.11F}}));
    Target target = target_;
    target.info.multiprocessors = multiprocessors;
    for (const Candidate& candidate : At(graph, "Attention").candidates) {
      const Unit unit = UnitOf(candidate.nodes);
      EXPECT_EQ(DecodeSplits(ReadDecodeAttention(unit.nodes), target.info), splits);
      std::vector<HostTensor> operands;
      for (const Value* input : unit.boundary.inputs) {
        const auto seed = static_cast<uint32_t>(operands.size()) + 1;
        operands.push_back(input->dtype() == DType::kI64
                               ? TensorOf(DType::kI64, input->dims(), s.lengths)
                               : TensorOf(dtype, input->dims(), Pattern(input->elements(), seed)));
      }
      const double tolerance = dtype == DType::kF16 ? 3e-3 : 2.5e-2;  // weights are rounded
      return emulator::CompareWithReference(CompileDecodeAttention({unit, candidate, target, ""}),
                                            candidate, operands, tolerance);
    }
    return "nothing is proposed";
  }

 private:
  static Value& Input(Graph& graph, DType dtype, const Dims& dims) {
    return graph.AddInput(absl::StrCat("x", graph.inputs().size()), Type::Tensor(dtype, dims));
  }
};

TEST_F(DecodeAttentionTest, OneBlockForAHead) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Shape& s : std::vector<Shape>{{1, 4, 1, 1, 100, 64, {}},
                                             {2, 4, 2, 1, 65, 64, {65, 33}},
                                             {1, 6, 2, 3, 120, 128, {119}},
                                             {2, 10, 1, 3, 80, 64, {80, 1}},
                                             {3, 2, 2, 1, 40, 64, {0, -1, 99}}}) {
      EXPECT_EQ(Compare(dtype, s, 1, 1), "") << NameOf(dtype) << " " << s.ToString();
    }
  }
}

// Splits of lengths that leave some of them without keys.
TEST_F(DecodeAttentionTest, BlocksShareTheKeysOfAHead) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t channels : {64, 128}) {
      const Shape s = {2, 8, 2, 1, 700, channels, {700, 130}};
      EXPECT_EQ(Compare(dtype, s, 132, 6), "") << NameOf(dtype) << " " << channels;
      const Shape all = {1, 4, 2, 2, 300, channels, {}};
      EXPECT_EQ(Compare(dtype, all, 132, 3), "") << NameOf(dtype) << " " << channels;
    }
  }
}

// Pages of caches anywhere, some of them counted from the back, which heads share.
TEST_F(DecodeAttentionTest, PagesOfCaches) {
  for (const auto& [type, wide, channels, page] :
       {std::tuple("float16", "int32", 64, 24), {"bfloat16", "int64", 128, 16}}) {
    const std::string cache = absl::StrCat(type, "[9,", page, ",2,", channels, "] ");
    const std::string heads = absl::StrCat(type, "[2,4,1,", channels, "] ");
    const Graph graph = GraphFromText(absl::StrCat(
        "g (", heads, "q, ", cache, "kc, ", cache, "vc, ", wide,
        "[2,5] table, int64[2] lengths) => (y) <int64[4] rows = {2, ", 5 * page, ", 2, ", channels,
        "}> { a = Gather(kc, table) b = Reshape(a, rows) k = Transpose<perm = [0,2,1,3]>(b) "
        "c = Gather(vc, table) d = Reshape(c, rows) v = Transpose<perm = [0,2,1,3]>(d) "
        "y = Attention(q, k, v, , , , lengths) }"));
    bool has_run = false;
    for (const Candidate& candidate : At(graph, "Attention").candidates) {
      if (candidate.nodes.size() != 7) continue;
      std::vector<HostTensor> operands;
      for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
        const auto seed = static_cast<uint32_t>(operands.size()) + 1;
        std::vector<double> numbers = Pattern(v->elements(), seed);
        if (v->name() == "table") numbers = {3, 8, 0, -2, 1, 5, 4, -9, 2, 6};
        if (v->name() == "lengths") numbers = {5.0 * page - 3, 2.0 * page + 1};
        operands.push_back(TensorOf(v->dtype(), v->dims(), numbers));
      }
      const double tolerance = channels == 64 ? 3e-3 : 2.5e-2;
      EXPECT_EQ(emulator::CompareWithReference(
                    CompileVariant(candidate, {.text = "decode_attention"}, target_), candidate,
                    operands, tolerance),
                "")
          << type;
      has_run = true;
    }
    EXPECT_TRUE(has_run) << type;
  }
}

}  // namespace
}  // namespace onnx_cudnn
