// Attention of few queries over a cache: rows, splits, lengths, types.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/attention/decode_attention.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

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
      EXPECT_EQ(DecodeSplits(ReadDecodeAttention(unit.node()), target.info), splits);
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

}  // namespace
}  // namespace onnx_cudnn
