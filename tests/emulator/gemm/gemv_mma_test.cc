// Products of up to 16 rows on tensor cores: every type, number of rows, tile and epilogue, with
// weights of 16 and 4 bits.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/gemm/gemv_mma.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

constexpr double kRounding = 2e-3;  // of activations; other results are exact, bit by bit

class GemvMmaCodeTest : public KernelsTest {
 protected:
  Value& Input(DType dtype, const Dims& dims) {
    return graph_.AddInput(absl::StrCat("x", graph_.inputs().size()), Type::Tensor(dtype, dims));
  }
  Value& Op(const std::string& op, std::vector<Value*> inputs, Attrs attrs = {}) {
    return Append(graph_, op, std::move(inputs), std::move(attrs));
  }
  Value& Cast(Value& v, DType to) { return Op("Cast", {&v}, {{"to", static_cast<int64_t>(to)}}); }

  struct Blocks {
    DType stored = DType::kU4;
    int64_t size = 32;
    bool has_zeros = false;
    bool is_turned = true;  // the constant is [columns, depth]
    int zero_step = 5;      // between neighbouring zero points; 0: all are 8
  };
  // Rows times a matrix of four bits.
  Value& Product4Bit(Value& x, int64_t columns, const Blocks& b) {
    const int64_t depth = x.dim(x.rank() - 1), blocks = (depth + b.size - 1) / b.size;
    const auto dims = [&](int64_t k) { return b.is_turned ? Dims{columns, k} : Dims{k, columns}; };
    const auto numbers = [&](const Dims& of, int step) {
      HostTensor tensor = HostTensor::Allocate(b.stored, of);
      auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
      std::fill_n(bytes, tensor.bytes(), 0);
      for (int64_t i = 0; i < of[0] * of[1]; ++i) {
        const int64_t number = step == 0 ? 8 : i * step % 16;
        bytes[i / 2] |= static_cast<uint8_t>(number << (i % 2 * 4));
      }
      return tensor;
    };
    std::vector<double> scales(columns * blocks);
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = i % 3 == 0 ? 0.25 : i % 3;
    std::vector<Value*> inputs = {&graph_.AddConstant(numbers(dims(depth), 7)),
                                  &graph_.AddConstant(TensorOf(x.dtype(), dims(blocks), scales))};
    if (b.has_zeros) inputs.push_back(&graph_.AddConstant(numbers(dims(blocks), b.zero_step)));
    Value* w = &Op("DequantizeLinear", inputs,
                   {{"axis", int64_t{b.is_turned ? 1 : 0}}, {"block_size", b.size}});
    if (b.is_turned) w = &Op("Transpose", {w}, {{"perm", std::vector<int64_t>{1, 0}}});
    return Op("MatMul", {&x, w});
  }

  // activation(gate) · up.
  void Gate(const char* activation, Value& gate, Value& up) {
    Op("Mul", {&up, &Op(activation, {&gate})});
  }

  // Compares these variants of the Candidates of all Nodes with the reference; kAllTiles: those of
  // gemv_4bit.cu.
  static constexpr const char* kAllTiles = "all tiles";
  std::string Compare(double tolerance = 0,
                      std::vector<const char*> variants = {"16", "32", "64"}) {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    graph_.AddOutput("y", *order.back()->outputs()[0]);
    const Unit unit = UnitOf({order.begin(), order.end()});
    const bool is_4bit = order[0]->op() == "DequantizeLinear";
    std::vector<HostTensor> inputs;
    for (const Value* v : unit.boundary.inputs) {
      inputs.push_back(TensorOf(v->dtype(), v->dims(),
                                Pattern(v->elements(), static_cast<uint32_t>(inputs.size()) + 1)));
    }
    for (const Node* node : order) {
      if (node->op() != "Gemm" && node->op() != "MatMul") continue;
      for (const Candidate& candidate : At(graph_, *node).candidates) {
        if (candidate.nodes != unit.nodes) continue;
        std::vector<std::string> texts(variants.begin(), variants.end());
        if (texts[0] == kAllTiles) {
          texts.clear();
          for (const Gemv4BitTile& tile : Gemv4BitTiles(unit, target_.info)) {
            texts.push_back(tile.Text());
          }
        }
        if (texts.empty()) return "there are no tiles";
        for (const std::string& columns : texts) {
          const KernelRequest request{unit, candidate, target_, columns};
          const std::string wrong = emulator::CompareWithReference(
              is_4bit ? CompileGemv4Bit(request) : CompileGemvMma(request), candidate, inputs,
              tolerance);
          if (!wrong.empty()) return absl::StrCat(columns, " columns: ", wrong);
        }
        return "";
      }
    }
    return "nothing is proposed for all Nodes";
  }

  Graph graph_;
};

TEST_F(GemvMmaCodeTest, RowsTypesAndTails) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t rows : {1, 2, 3, 8, 9, 15, 16}) {
      for (const auto& [depth, columns] :
           {std::pair<int64_t, int64_t>{72, 37}, {8, 1}, {1032, 16}}) {
        graph_ = Graph();
        Value& x = Input(dtype, {rows, depth});
        Op("MatMul", {&x, &Weights(graph_, dtype, {depth, columns})});
        EXPECT_EQ(Compare(), "") << NameOf(dtype) << " " << rows << " " << depth << " " << columns;
      }
    }
  }
}

TEST_F(GemvMmaCodeTest, DepthInnermostAndBias) {
  Value& x = Input(DType::kF16, {3, 40});
  Op("Gemm", {&x, &Weights(graph_, DType::kF16, {70, 40}), &Weights(graph_, DType::kF16, {70})},
     {{"transB", int64_t{1}}});
  EXPECT_EQ(Compare(), "");
}

TEST_F(GemvMmaCodeTest, BiasResidualActivationAndCast) {
  for (const int64_t rows : {1, 11}) {
    for (const char* activation : {"Relu", "Gelu", "Swish", "Tanh", "HardSwish"}) {
      graph_ = Graph();
      Value& x = Input(DType::kF16, {1, rows, 264});
      Value& r = Input(DType::kF16, {1, rows, 20});
      Value& product = Op("MatMul", {&x, &Weights(graph_, DType::kF16, {264, 20})});
      Value& biased = Op("Add", {&Weights(graph_, DType::kF16, {20}), &product});
      Cast(Op(activation, {&Op("Add", {&biased, &r})}), DType::kF32);
      EXPECT_EQ(Compare(kRounding), "") << activation << " " << rows;
    }
  }
}

TEST_F(GemvMmaCodeTest, GatedProducts) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t rows : {1, 8, 11}) {
      for (const int64_t columns : {5, 37, 80}) {
        graph_ = Graph();
        Value& x = Input(dtype, {rows, 72});
        Value& gate = Op("MatMul", {&x, &Weights(graph_, dtype, {72, columns})});
        Value& up =
            Op("Gemm", {&x, &Weights(graph_, dtype, {columns, 72})}, {{"transB", int64_t{1}}});
        Gate("Swish", gate, up);
        EXPECT_EQ(Compare(dtype == DType::kF16 ? kRounding : 8 * kRounding, {"16", "32"}), "")
            << NameOf(dtype) << " " << rows << " " << columns;
      }
    }
  }
}

TEST_F(GemvMmaCodeTest, GatedProductsAndACast) {
  Value& x = Input(DType::kF16, {2, 64});
  Value& gate = Op("MatMul", {&x, &Weights(graph_, DType::kF16, {64, 48})});
  Value& up = Op("MatMul", {&x, &Weights(graph_, DType::kF16, {64, 48})});
  Cast(Op("Mul", {&Op("Gelu", {&gate}), &up}), DType::kF32);
  EXPECT_EQ(Compare(kRounding, {"16", "32"}), "");
}

// The Nodes of a Candidate that a worker or a pin file gives are in the order of its Graph.
TEST_F(GemvMmaCodeTest, GatedProductsInTheOtherOrder) {
  Value& x = Input(DType::kF16, {2, 64});
  Value& up = Op("MatMul", {&x, &Weights(graph_, DType::kF16, {64, 48})});
  Value& gate = Op("MatMul", {&x, &Weights(graph_, DType::kF16, {64, 48})});
  Op("Mul", {&Op("Swish", {&gate}), &up});
  const std::vector<Node*> order = graph_.TopologicalOrder();
  graph_.AddOutput("y", *order.back()->outputs()[0]);
  const Unit unit = UnitOf({order.begin(), order.end()});
  const HostTensor input = TensorOf(DType::kF16, {2, 64}, Pattern(2 * 64, 1));
  int ran = 0;
  for (Candidate candidate : At(graph_, *gate.producer()).candidates) {
    if (candidate.nodes.size() != order.size()) continue;
    candidate.nodes = unit.nodes;
    const KernelRequest request{unit, candidate, target_, "16"};
    EXPECT_EQ(
        emulator::CompareWithReference(CompileGemvMma(request), candidate, {input}, kRounding), "");
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

TEST_F(GemvMmaCodeTest, ProductsThatAreNotGated) {
  // A bias, a second reader, other rows, another shape: the products are not one launch.
  enum Form { kBias, kReader, kRows, kShape };
  for (const Form form : {kBias, kReader, kRows, kShape}) {
    graph_ = Graph();
    Value& x = Input(DType::kF16, {2, 64});
    Value& other = form == kRows ? Input(DType::kF16, {2, 64}) : x;
    std::vector<Value*> gate_inputs = {&x, &Weights(graph_, DType::kF16, {64, 48})};
    if (form == kBias) gate_inputs.push_back(&Weights(graph_, DType::kF16, {48}));
    Value& gate = Op("Gemm", gate_inputs);
    Value& up = Op("Gemm", {&other, &Weights(graph_, DType::kF16, {64, form == kShape ? 1 : 48})});
    Gate("Swish", gate, up);
    if (form == kReader) graph_.AddOutput("gate", gate);
    EXPECT_EQ(Compare(), "nothing is proposed for all Nodes") << form;
  }
}

TEST_F(GemvMmaCodeTest, ResidualOfAGemm) {
  Value& x = Input(DType::kBF16, {2, 16});
  Value& r = Input(DType::kBF16, {2, 24});
  Value& product = Op(
      "Gemm", {&x, &Weights(graph_, DType::kBF16, {16, 24}), &Weights(graph_, DType::kBF16, {24})});
  Op("Add", {&r, &product});
  EXPECT_EQ(Compare(), "");
}

TEST_F(GemvMmaCodeTest, FourBits) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t rows : {1, 2, 3, 8, 15, 16}) {
      for (const bool has_zeros : {false, true}) {
        for (const DType stored : {DType::kU4, DType::kI4}) {
          graph_ = Graph();
          Product4Bit(Input(dtype, {rows, 72}), 37, {stored, 16, has_zeros});
          EXPECT_EQ(Compare(dtype == DType::kF16 ? 1e-3 : 8e-3), "")
              << NameOf(dtype) << " " << rows << " " << has_zeros << " " << NameOf(stored);
        }
      }
    }
  }
}

TEST_F(GemvMmaCodeTest, GatedProductsOfFourBits) {
  for (const bool has_zeros : {false, true}) {
    for (const int64_t rows : {1, 9}) {
      for (const std::vector<const char*>& variants :
           {std::vector<const char*>{"16", "32"}, {kAllTiles}}) {
        graph_ = Graph();
        Value& x = Input(DType::kF16, {rows, 264});
        Value& gate = Product4Bit(x, 37, {DType::kU4, 32, has_zeros});
        Value& up = Product4Bit(x, 37, {DType::kU4, 32, has_zeros, /*is_turned=*/false});
        Gate("Swish", gate, up);
        EXPECT_EQ(Compare(4 * kRounding, variants), "") << has_zeros << " " << rows;
      }
    }
  }
}

// Every tile with one and several blocks of a cluster, over more steps of K than blocks; zero
// points that are all the same, and others.
TEST_F(GemvMmaCodeTest, FourBitsInTilesAndClusters) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const auto& [rows, zero_step] : {std::pair<int64_t, int>{1, 0}, {11, 5}}) {
      graph_ = Graph();
      Value& x = Input(dtype, {rows, 1032});
      Product4Bit(x, 37, {DType::kU4, 32, /*has_zeros=*/true, /*is_turned=*/true, zero_step});
      EXPECT_EQ(Compare(dtype == DType::kF16 ? 1e-3 : 8e-3, {kAllTiles}), "")
          << NameOf(dtype) << " " << rows << " " << zero_step;
    }
  }
}

TEST_F(GemvMmaCodeTest, SignedFourBitsInTiles) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const bool has_zeros : {false, true}) {
      graph_ = Graph();
      Value& x = Input(dtype, {3, 136});
      Product4Bit(x, 70, {DType::kI4, 64, has_zeros});
      EXPECT_EQ(Compare(dtype == DType::kF16 ? 1e-3 : 8e-3, {kAllTiles}), "")
          << NameOf(dtype) << " " << has_zeros;
    }
  }
}

TEST_F(GemvMmaCodeTest, BlocksWithoutTilesHaveTheOtherCode) {
  Product4Bit(Input(DType::kF16, {1, 128}), 16, {DType::kU4, 16});
  EXPECT_EQ(Compare(1e-3, {kAllTiles}), "there are no tiles");
}

TEST_F(GemvMmaCodeTest, FourBitsInBlocks) {
  for (const int64_t block : {8, 16, 32, 64, 128, 256}) {
    for (const bool is_turned : {false, true}) {
      graph_ = Graph();
      Value& x = Input(DType::kF16, {2, 768});
      Value& r = Input(DType::kF16, {2, 18});
      Value& y = Product4Bit(x, 18, {DType::kU4, block, true, is_turned});
      Op("Add", {&y, &r});
      EXPECT_EQ(Compare(1e-3), "") << block << " " << is_turned;
      if (block < 32) continue;
      graph_ = Graph();
      Op("Add",
         {&Product4Bit(Input(DType::kF16, {2, 776}), 18, {DType::kU4, block, true, is_turned}),
          &Input(DType::kF16, {2, 18})});
      EXPECT_EQ(Compare(1e-3, {kAllTiles}), "") << block << " " << is_turned;
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
