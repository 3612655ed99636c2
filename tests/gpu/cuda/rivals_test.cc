// Work that two of our kernels, or two forms of one kernel, can do: the time of each, measured in
// alternation. A kernel that another one matches within 2 % should be removed. Runs if
// ONNX_CUDNN_RIVALS=FILE is set; the file receives a JSON list of
// {"case", "batch", "form", "us"}.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "runtime/kernels/cuda/common/kernel_step.h"
#include "runtime/kernels/cuda/norm/plane_norm_stream.h"
#include "runtime/kernels/gemm/gemv_mma.h"
#include "tests/gpu/conv/conv_gemm_cases.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr int kRounds = 7;    // of all forms, one after the other
constexpr int kRepeats = 20;  // launches of a measurement
constexpr size_t kMostTiles = 4, kEveryVariant = std::numeric_limits<size_t>::max();
constexpr std::string_view kSmallBatchConv = "small_batch_conv ";

// Whether a variant of small_batch_conv is a tile in another form than the usual one.
bool IsOtherForm(std::string_view variant) {
  return absl::StrContains(variant, " next=") || absl::StrContains(variant, " form=");
}

struct Form {
  std::string name;
  std::shared_ptr<const Step> step;
};

class RivalsTest : public KernelTest {
 protected:
  void SetUp() override {
    if (Variable("ONNX_CUDNN_RIVALS").empty()) GTEST_SKIP() << "needs ONNX_CUDNN_RIVALS=FILE";
    if (IsEmulated()) GTEST_SKIP() << "measures code of our kernels: needs a CUDA device";
    GpuTest::SetUp();
  }
  static void TearDownTestSuite() {
    const std::string path = Variable("ONNX_CUDNN_RIVALS");
    if (path.empty() || records_.empty()) return;
    const std::string json = absl::StrCat("[\n ", absl::StrJoin(records_, ",\n "), "\n]\n");
    EXPECT_TRUE(WriteFile(path, json).ok());
  }

  // All Nodes as one Candidate, channels-last.
  static std::vector<Candidate> ChannelsLast(const Graph& graph, std::string_view anchor,
                                             const Target& target) {
    std::vector<Candidate> found = OfAllNodes(graph, anchor, target);
    std::erase_if(found, [](const Candidate& candidate) {
      return !Describe(candidate).ends_with("last > last");
    });
    return found;
  }

  // A product with weights in blocks of 32 with zero points, all 8, as MatMulNBits is imported.
  static Graph FourBitProduct(int64_t rows, int64_t depth, int64_t columns) {
    Graph graph = GraphWithWeights(absl::Substitute(
        "g (float16[$0,$1] x, uint4[$2,$1] q, float16[$2,$3] ws, uint4[$2,$3] z) => (y) "
        "{ u = DequantizeLinear<axis = 1, block_size = 32>(q, ws, z) "
        "w = Transpose<perm = [1,0]>(u) y = MatMul(x, w) }",
        rows, depth, columns, depth / 32));
    for (int i = static_cast<int>(graph.inputs().size()) - 1; i >= 0; --i) {
      Value& input = *graph.inputs()[i];
      if (input.dtype() != DType::kU4) continue;
      HostTensor numbers = HostTensor::Allocate(input.dtype(), input.dims());
      std::memset(numbers.mutable_raw(), 0x88, static_cast<size_t>(numbers.bytes()));
      graph.ReplaceAllUses(input, graph.AddConstant(std::move(numbers)));
      graph.RemoveInput(i);
    }
    return graph;
  }

  // Adds the kernel's code as a Step; `name` tells its form. Does nothing if the code is refused.
  void Add(std::string name, absl::StatusOr<KernelCode> code, std::vector<Form>& forms) {
    if (absl::IsUnimplemented(code.status())) return;
    ASSERT_TRUE(code.ok()) << name << ": " << code.status();
    absl::StatusOr<std::shared_ptr<const Step>> step =
        MakeKernelStep(*std::move(code), target().info);
    ASSERT_TRUE(step.ok()) << name << ": " << step.status();
    forms.push_back({std::move(name), *std::move(step)});
  }

  // What runs all of `ours` in the same layouts: our kernels in all their variants, and the first
  // `most` variants of each library.
  std::vector<Form> AllForms(const Graph& graph, const Candidate& ours, std::string_view anchor,
                             size_t most) {
    std::vector<Form> forms;
    for (const Engine* engine : target().engines) {
      for (const Candidate& candidate :
           ProposedBy(*engine, graph, FindNode(graph, anchor), target()).candidates) {
        const bool is_alike = candidate.nodes == ours.nodes && candidate.inputs == ours.inputs &&
                              candidate.outputs == ours.outputs;
        if (!is_alike) continue;
        std::vector<Variant> variants = *engine->Variants(candidate, target());
        if (engine->name() != "kernel" && variants.size() > most) variants.resize(most);
        for (const Variant& variant : variants) {
          const auto compiled = engine->Compile(candidate, variant, target());
          if (!compiled.ok() || compiled->step() == nullptr) continue;
          forms.push_back({absl::StrCat(engine->name(), " ", variant.text), compiled->step()});
        }
      }
    }
    return forms;
  }
  // All Nodes of the graph by our kernels and by libraries.
  void MeasureAll(const std::string& name, int64_t batch, const Graph& graph,
                  std::string_view anchor, size_t most = kMostTiles) {
    const std::vector<Candidate> ours = OfAllNodes(graph, anchor, target());
    ASSERT_EQ(ours.size(), 1u) << name;
    Measure(name, batch, ours[0], AllForms(graph, ours[0], anchor, most));
  }

  // Records the minimum of each form over several rounds.
  void Measure(const std::string& name, int64_t batch, const Candidate& candidate,
               const std::vector<Form>& forms) {
    ASSERT_GE(forms.size(), 2) << name << " has no rivals";
    std::vector<std::unique_ptr<StepRunner>> runners;
    for (const Form& form : forms) {
      auto runner = StepRunner::Create(candidate, form.step, device(), constants());
      ASSERT_TRUE(runner.ok()) << form.name << ": " << runner.status();
      ASSERT_TRUE((*runner)->FillInputs().ok());
      runners.push_back(*std::move(runner));
    }
    std::vector<double> best(forms.size(), std::numeric_limits<double>::infinity());
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < forms.size(); ++i) {
        const auto us = runners[i]->MeasureUs(kRepeats, StepRunner::Constants::kCold);
        ASSERT_TRUE(us.ok()) << forms[i].name << ": " << us.status();
        best[i] = std::min(best[i], *us);
      }
    }
    for (size_t i = 0; i < forms.size(); ++i) {
      records_.push_back(absl::StrFormat(R"({"case": "%s", "batch": %d, "form": "%s", "us": %.3f})",
                                         name, batch, forms[i].name, best[i]));
    }
  }

  static std::vector<std::string> records_;
};

std::vector<std::string> RivalsTest::records_;

// conv_3x3 compared with conv_gemm and small_batch_conv, each in all its variants.
TEST_F(RivalsTest, Conv3x3) {
  for (const int64_t batch : {1, 4, 8, 16, 32, 64, 128, 256}) {
    for (const bool has_residual : {false, true}) {
      const ConvGemmCase test{
          .channels = 64, .filters = 64, .side = 56, .kernel = 3, .has_residual = has_residual};
      const Graph graph = GraphWithWeights(test.Text(batch));
      for (const Candidate& candidate : ChannelsLast(graph, "Conv", target())) {
        const auto variants = candidate.engine->Variants(candidate, target());
        ASSERT_TRUE(variants.ok()) << variants.status();
        std::vector<Form> forms;
        for (const Variant& variant : *variants) {
          Add(variant.text, CompileVariant(candidate, variant, target()), forms);
        }
        Measure(test.Name(), batch, candidate, forms);
      }
    }
  }
}

// small_batch_conv in all its tiles, the first ones also in their other forms, compared with other
// kernels of ours and the first variants of the libraries: the convolutions of ResNet-18 and
// ResNet-50.
TEST_F(RivalsTest, SmallBatchConv) {
  const ConvGemmCase cases[] = {
      {.channels = 64, .filters = 64, .side = 56, .kernel = 3},
      {.channels = 128, .filters = 128, .side = 28, .kernel = 3, .has_residual = true},
      {.channels = 128, .filters = 256, .side = 14, .kernel = 3, .stride = 2},
      {.channels = 256, .filters = 256, .side = 14, .kernel = 3},
      {.channels = 512, .filters = 512, .side = 7, .kernel = 3, .has_residual = true},
      {.channels = 256, .filters = 64, .side = 56},
      {.channels = 64, .filters = 256, .side = 56, .other_channels = 64},
      {.channels = 1024, .filters = 256, .side = 14},
      {.channels = 256, .filters = 1024, .side = 14, .has_residual = true},
      {.channels = 512, .filters = 2048, .side = 7, .has_residual = true}};
  for (const ConvGemmCase& test : cases) {
    for (const int64_t batch : {1, 2, 8}) {
      const Graph graph = GraphWithWeights(test.Text(batch));
      for (const Candidate& candidate : ChannelsLast(graph, "Conv", target())) {
        std::vector<Form> forms = AllForms(graph, candidate, "Conv", kMostTiles);
        std::vector<Variant> variants = *candidate.engine->Variants(candidate, target());
        std::erase_if(variants, [](const Variant& variant) {
          return !variant.text.starts_with(kSmallBatchConv) || IsOtherForm(variant.text);
        });
        if (variants.size() > kMostTiles) variants.resize(kMostTiles);
        const Unit unit = UnitOf(candidate.nodes);
        for (const Variant& variant : variants) {
          for (const std::string_view form : {" next=late", " form=general"}) {
            const auto tile = absl::StrCat(absl::StripPrefix(variant.text, kSmallBatchConv), form);
            std::string name = absl::StrCat("kernel ", kSmallBatchConv, tile);
            const auto is_it = [&](const Form& known) { return known.name == name; };
            if (std::ranges::any_of(forms, is_it)) continue;
            Add(std::move(name), CompileSmallBatchConv({unit, candidate, target(), tile}), forms);
          }
        }
        Measure(test.Name(), batch, candidate, forms);
      }
    }
  }
}

// Products with constant matrices by kernels of ours in all their tiles, compared with the first
// variants of cuBLASLt and cuDNN: those of a layer of BERT-base and ViT-B/16.
TEST_F(RivalsTest, Products) {
  struct Product {
    std::string name, nodes;
    int64_t depth, columns;
  };
  const Product products[] = {
      {"bias", "t = MatMul(x, w) y = Add(t, wb)", 768, 2304},
      {"bias residual", "t = MatMul(x, w) u = Add(t, wb) y = Add(u, r)", 768, 768},
      {"bias gelu", "t = MatMul(x, w) u = Add(t, wb) y = Gelu(u)", 768, 3072},
      {"bias residual", "t = MatMul(x, w) u = Add(t, wb) y = Add(u, r)", 3072, 768}};
  for (const Product& product : products) {
    for (const int64_t rows : {16, 49, 128, 197, 256, 512, 1024, 4096, 6304}) {
      const Graph graph = GraphWithWeights(absl::Substitute(
          "g (float16[$0,$1] x, float16[$1,$2] w, float16[$2] wb, float16[$0,$2] r) => "
          "(float16[$0,$2] y) { $3 }",
          rows, product.depth, product.columns, product.nodes));
      MeasureAll(absl::StrCat(product.depth, "->", product.columns, " ", product.name), rows, graph,
                 "MatMul");
    }
  }
}

// Channels-last planes that fit a block's registers: reading them once, compared with the form that
// reads them a second time from L2.
TEST_F(RivalsTest, PlaneNormInColumns) {
  for (const std::string type : {"float16", "float"}) {
    for (const auto& [channels, side] : {std::pair{64, 28}, {256, 14}, {512, 14}, {512, 7}}) {
      for (const int64_t batch : {1, 8, 32, 128}) {
        const Graph graph = GraphFromText(absl::Substitute(
            "g ($0[$1,$2,$3,$3] x, $0[$2] w, $0[$2] b) => ($0[$1,$2,$3,$3] y) { y = "
            "InstanceNormalization(x, w, b) }",
            type, batch, channels, side));
        for (const Candidate& candidate : OfAllNodes(graph, "InstanceNormalization", target())) {
          if (!Describe(candidate).ends_with("> last")) continue;
          const Unit unit = UnitOf(candidate.nodes);
          const KernelRequest request{unit, candidate, target(), ""};
          Operands operands(request);
          const auto slot = [&](int i) { return operands.Of(unit.node().input(i)).slot; };
          const KernelOperand y = operands.Of(unit.node().output(0));
          PlaneNormCalls stream =
              PlaneNormStream(y.dtype(), PlanesOf(y),
                              {.groups = channels,
                               .multiprocessors = target().info.multiprocessors,
                               .l2_bytes = target().info.l2_bytes},
                              {.x = slot(0), .scale = slot(1), .bias = slot(2), .y = y.slot});
          std::vector<Form> forms;
          Add("columns", CompilePlaneNorm(request), forms);
          Add("stream",
              KernelCode{.calls = std::move(stream.calls),
                         .constants = operands.TakeConstants(),
                         .workspace_bytes = stream.workspace_bytes},
              forms);
          Measure(absl::Substitute("instance norm $0 $1@$2", type, channels, side), batch,
                  candidate, forms);
        }
      }
    }
  }
}

// Products of decoding in f16: our kernels compared with the libraries, each in all its variants.
TEST_F(RivalsTest, DecodeProducts) {
  for (const auto& [depth, columns] :
       {std::pair{2048, 2048}, {2048, 3072}, {2048, 8192}, {8192, 2048}, {2048, 128256}}) {
    for (const int64_t rows : {1, 4, 16}) {
      const Graph graph = GraphWithWeights(absl::Substitute(
          "g (float16[$0,$1] x, float16[$1,$2] w) => (float16[$0,$2] y) { y = MatMul(x, w) }", rows,
          depth, columns));
      MeasureAll(absl::Substitute("decode $0x$1", depth, columns), rows, graph, "MatMul",
                 kEveryVariant);
    }
  }
}

// The same with weights of four bits: gemv_4bit in all its tiles, and the code of gemv_mma, which
// expands weights to 16 bits, in its own.
TEST_F(RivalsTest, DecodeProductsOfFourBits) {
  for (const auto& [depth, columns] :
       {std::pair{2048, 2048}, {2048, 3072}, {2048, 8192}, {8192, 2048}, {2048, 32000}}) {
    for (const int64_t rows : {1, 4, 16}) {
      const Graph graph = FourBitProduct(rows, depth, columns);
      const std::vector<Candidate> ours = OfAllNodes(graph, "MatMul", target());
      ASSERT_EQ(ours.size(), 1u);
      const Unit unit = UnitOf(ours[0].nodes);
      std::vector<std::string> tiles = {"16", "32", "64"};
      for (const Gemv4BitTile& tile : Gemv4BitTiles(unit, target().info)) {
        tiles.push_back(tile.Text());
      }
      std::vector<Form> forms;
      for (const std::string& tile : tiles) {
        Add(absl::StrCat("gemv_4bit ", tile), CompileGemv4Bit({unit, ours[0], target(), tile}),
            forms);
      }
      Measure(absl::Substitute("decode int4 $0x$1", depth, columns), rows, ours[0], forms);
    }
  }
}

// Attention by our kernels compared with cuDNN's, over heads as projections of transformers leave
// them, [batch, tokens, heads, channels].
class AttentionRivalsTest : public RivalsTest {
 protected:
  struct Shape {
    int64_t queries, keys, heads, shared, channels;
  };
  // `mask` is an operand "m"; `call`: the attributes and operands of Attention.
  void MeasureTurned(const std::string& name, int64_t batch, const Shape& s,
                     const std::string& mask, const std::string& call) {
    const Graph graph = GraphFromText(absl::Substitute(
        "g (float16[$0,$1,$3,$5] q, float16[$0,$2,$4,$5] k, float16[$0,$2,$4,$5] v$6) => (y) "
        "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
        "c = Transpose<perm = [0,2,1,3]>(v) d = Attention$7 "
        "y = Transpose<perm = [0,2,1,3]>(d) }",
        batch, s.queries, s.keys, s.heads, s.shared, s.channels, mask, call));
    MeasureAll(absl::StrCat("attention ", name), batch, graph, "Attention");
  }
};

TEST_F(AttentionRivalsTest, Encoders) {
  for (const int64_t batch : {1, 8, 32}) {
    MeasureTurned("vit 197", batch, {197, 197, 12, 12, 64}, "", "(a, b, c)");
    MeasureTurned("bert 128", batch, {128, 128, 12, 12, 64},
                  absl::Substitute(", float16[$0,1,1,128] m", batch), "(a, b, c, m)");
  }
  for (const int64_t batch : {1, 8}) {
    MeasureTurned("whisper 1500", batch, {1500, 1500, 12, 12, 64}, "", "(a, b, c)");
  }
}

TEST_F(AttentionRivalsTest, Prefill) {
  for (const int64_t channels : {64, 128}) {
    MeasureTurned(absl::StrCat("causal 2048, channels: ", channels), 1,
                  {2048, 2048, 32, 8, channels}, "", "<is_causal = 1>(a, b, c)");
  }
}

// One query over caches that are full; those of one sequence stay in L2 between launches.
TEST_F(AttentionRivalsTest, Decode) {
  for (const int64_t batch : {1, 16}) {
    for (const int64_t keys : {2048, 8192}) {
      const Graph graph =
          GraphFromText(absl::Substitute("g (float16[$0,32,1,64] q, float16[$0,8,$1,64] k, "
                                         "float16[$0,8,$1,64] v) => (y) { y = Attention(q, k, v) }",
                                         batch, keys));
      MeasureAll(absl::StrCat("attention decode ", keys), batch, graph, "Attention");
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
