// small_batch_conv in every form of its code and every tile, against the references.
#include <optional>
#include <set>
#include <tuple>

#include "gtest/gtest.h"
#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/conv/small_batch_conv.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_plain.h"
#include "runtime/plan/known_devices.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;
using Form = std::tuple<DType, int, int, bool, bool, bool, bool>;

// The reference rounds every Node's output to 11 or 8 bits, the kernel only the last one.
constexpr double kHalf = 2e-3, kBrain = 1.6e-2;

struct ConvAttrs {
  int64_t kernel = 1, stride = 1;
  bool has_bias = true;
};

class SmallBatchConvCodeTest : public testing::Test {
 protected:
  SmallBatchConvCodeTest() { target_.info = H200(); }

  void Start(DType dtype) {
    graph_ = Graph();
    dtype_ = dtype;
    inputs_ = 0;
  }
  Value& Input(const Dims& dims) {
    return graph_.AddInput("x" + std::to_string(inputs_++), Type::Tensor(dtype_, dims));
  }
  Value& Conv(Value& x, int64_t filters, const ConvAttrs& attrs) {
    const int64_t pad = attrs.kernel / 2;
    std::vector<Value*> inputs = {
        &x, &Weights(graph_, dtype_, {filters, x.dim(1), attrs.kernel, attrs.kernel})};
    if (attrs.has_bias) inputs.push_back(&Weights(graph_, dtype_, {filters}));
    return Append(
        graph_, "Conv", inputs,
        {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{attrs.stride, attrs.stride}}});
  }
  Value& Add(Value& a, Value& b) { return Append(graph_, "Add", {&a, &b}); }
  Value& Relu(Value& x) { return Append(graph_, "Relu", {&x}); }

  Format FormatOf(const Value& v) const {
    const Format dense = Format::ChannelsLast(v.dims(), v.dim(1) % 8 == 0 ? 1 : 4);
    std::vector<Format::Axis> axes(dense.axes().begin(), dense.axes().end());
    axes.back().pitch += between_pixels_;
    return Format::Of(axes);
  }

  // Runs all Nodes as one launch, channels-last, in each tile for which `takes` holds; calls `see`
  // with each plan.
  template <typename Takes, typename See>
  void Check(const std::vector<Value*>& outputs, Takes takes, See see) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph_.AddOutput("y" + std::to_string(i), *outputs[i]);
    }
    const std::vector<Node*> order = graph_.TopologicalOrder();
    const Unit unit = UnitOf({order.begin(), order.end()});
    Candidate candidate{.nodes = unit.nodes};
    std::vector<HostTensor> images;
    for (const Value* v : unit.boundary.inputs) {
      candidate.inputs.push_back({FormatOf(*v)});
      images.push_back(TensorOf(dtype_, v->dims(), Pattern(v->elements(), images.size() + 7)));
    }
    for (const Value* v : unit.boundary.outputs) candidate.outputs.push_back({FormatOf(*v)});
    const absl::StatusOr<UnitConvs> convs = UnitConvsOf(unit);
    ASSERT_TRUE(convs.ok()) << convs.status();
    for (const SmallBatchPlan& plan : SmallBatchPlansOf(*convs, target_.info)) {
      if (!takes(plan)) continue;
      see(plan);
      const std::string tile = plan.tile.ToString();
      const auto code = CompileSmallBatchConv({unit, candidate, target_, tile});
      if (parameter_bytes_ > 0 && code.ok()) {
        EXPECT_EQ(code->calls[0].parameters.size(), parameter_bytes_);
      }
      const double tolerance = dtype_ == DType::kF16 ? kHalf : kBrain;
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, images, tolerance), "") << tile;
      CheckOtherForms(unit, candidate, plan, images);
    }
  }
  // The tile in its other forms, which are refused where the plain form does not take it.
  void CheckOtherForms(const Unit& unit, const Candidate& candidate, const SmallBatchPlan& plan,
                       const std::vector<HostTensor>& images) {
    if (!other_forms_) return;
    for (const SmallBatchForm form : {SmallBatchForm::kLate, SmallBatchForm::kGeneral}) {
      SmallBatchTile tile = plan.tile;
      tile.form = form;
      const std::string variant = tile.ToString();
      const auto code = CompileSmallBatchConv({unit, candidate, target_, variant});
      if (*other_forms_ == 0 || !IsPlain(plan)) {
        EXPECT_EQ(code.status().code(), absl::StatusCode::kUnimplemented) << variant;
        continue;
      }
      ASSERT_TRUE(code.ok()) << code.status();
      const bool is_general = form == SmallBatchForm::kGeneral;
      EXPECT_EQ(code->calls[0].parameters.size(),
                is_general ? sizeof(SmallBatchConvParameters) : *other_forms_);
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, images, kHalf), "") << variant;
    }
  }
  // Checks every tile; `plain_tiles` of them use the plain form.
  void Check(const std::vector<Value*>& outputs, int plain_tiles) {
    int plain = 0;
    Check(
        outputs, [](const SmallBatchPlan&) { return true; },
        [&](const SmallBatchPlan& plan) { plain += IsPlain(plan) ? 1 : 0; });
    EXPECT_EQ(plain, plain_tiles);
  }

  Graph graph_;
  DType dtype_ = DType::kF16;
  int inputs_ = 0;
  size_t parameter_bytes_ = 0;  // of every launch, where a test says so
  int64_t between_pixels_ = 0;  // lanes of others in every operand
  // Whether the other forms of each tile are checked too: bytes of the plain form's parameters, 0:
  // it takes none of the tiles.
  std::optional<size_t> other_forms_;
  Target target_;
};

// 32 and 64 pixels × 16, 32 and 64 filters, split or not, 1 × 1 and 3 × 3 windows, with a second
// source, an activation other than Relu, or neither, in both types: 45 pixels of two images, so
// that the last tile is partial.
TEST_F(SmallBatchConvCodeTest, EveryPlainForm) {
  std::set<Form> forms;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const bool has_window : {false, true}) {
      for (const auto& [has_second, activates] :
           {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
        Start(dtype);
        const int64_t kernel = has_window ? 3 : 1;
        Value* sum = &Conv(Input({2, 64, 5, 9}), 64, {.kernel = kernel});
        if (has_second) {
          sum = &Add(*sum, Conv(Input({2, 32, 10, 17}), 64, {.stride = 2, .has_bias = false}));
        }
        Value& y = activates ? Append(graph_, "Gelu", {sum}) : Relu(*sum);
        Check(
            {&y}, [](const SmallBatchPlan& plan) { return plan.tile.split <= 2; },
            [&, second = has_second, active = activates](const SmallBatchPlan& plan) {
              ASSERT_TRUE(IsPlain(plan));
              const SmallBatchConvPlainForm form = PlainConvOf(plan).form;
              EXPECT_EQ(form.has_window, has_window);
              EXPECT_EQ(form.has_second, second);
              forms.insert(
                  {dtype, form.pixels, form.filters, has_window, second, form.is_split, active});
            });
      }
    }
  }
  EXPECT_EQ(forms.size(), 144u);
}

// The Pad that the rewrite split-pad inserts, alone and after an op that is not 0 at 0: its padding
// and the Conv's are zeros. The Conv reads the image of 5 × 9 as one of 8 × 10.
TEST_F(SmallBatchConvCodeTest, APadBeforeTheConv) {
  for (const bool has_prologue : {false, true}) {
    Start(DType::kF16);
    Value& x = Input({2, 64, 5, 9});
    Value& image = has_prologue ? Append(graph_, "Sigmoid", {&x}) : x;
    Value& pads = graph_.AddConstant(HostTensor::Ints({0, 0, 1, 0, 0, 0, 2, 1}));
    Value& padded = Append(graph_, "Pad", {&image, &pads});
    int plans = 0;
    Check(
        {&Relu(Conv(padded, 64, {.kernel = 3, .stride = 2}))},
        [](const SmallBatchPlan&) { return true; },
        [&](const SmallBatchPlan& plan) {
          ++plans;
          EXPECT_EQ(plan.source[0].pad_h, 2);
          EXPECT_EQ(plan.source[0].pad_w, 1);
        });
    EXPECT_GT(plans, 4);
  }
}

// Each one has the plain form, without an epilogue program.
TEST_F(SmallBatchConvCodeTest, EveryActivation) {
  const auto end_with = [&](absl::string_view op, Value& sum) -> Value& {
    if (op == "gate") return Append(graph_, "Mul", {&sum, &Append(graph_, "Sigmoid", {&sum})});
    if (op == "Gelu") return Append(graph_, "Gelu", {&sum}, {{"approximate", "tanh"}});
    return Append(graph_, std::string(op), {&sum});
  };
  for (const absl::string_view op :
       {"Abs", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Sigmoid", "Tanh", "gate"}) {
    SCOPED_TRACE(op);
    Start(DType::kF16);
    Value& r = Input({1, 64, 3, 5});
    parameter_bytes_ = sizeof(SmallBatchConvPlainParameters);
    Check({&end_with(op, Add(Conv(Input({1, 32, 3, 5}), 64, {}), r))}, 12);
  }
}

// Whatever exceeds the plain form runs in the kernel with programs.
TEST_F(SmallBatchConvCodeTest, ActivationsOfTwoSources) {
  Start(DType::kF16);
  Value& sum = Add(Conv(Input({1, 32, 3, 5}), 64, {}),
                   Conv(Input({1, 64, 5, 9}), 64, {.stride = 2, .has_bias = false}));
  parameter_bytes_ = sizeof(SmallBatchConvWithProgramParameters);
  Check({&Append(graph_, "HardSwish", {&sum})}, 12);
}

// 16 to 128 channels per part: one and two groups of copies, in one or two rounds of products.
TEST_F(SmallBatchConvCodeTest, OneByOneWithResidual) {
  Start(DType::kF16);
  Value& r = Input({1, 64, 5, 7});
  Check({&Relu(Add(Conv(Input({1, 128, 5, 7}), 64, {}), r))}, 24);
}

TEST_F(SmallBatchConvCodeTest, OtherFormsOfTheSameTile) {
  Start(DType::kF16);
  other_forms_ = sizeof(SmallBatchConvPlainParameters);
  Value& r = Input({2, 64, 5, 7});
  Check({&Relu(Add(Conv(Input({2, 128, 5, 7}), 64, {}), r))}, 24);
}

TEST_F(SmallBatchConvCodeTest, OtherFormsOfWindows) {
  Start(DType::kF16);
  other_forms_ = sizeof(SmallBatchConvPlainWindowParameters);
  Value& r = Input({1, 32, 5, 7});
  Check({&Relu(Add(Conv(Input({1, 32, 5, 7}), 32, {.kernel = 3}), r))}, 8);
}

TEST_F(SmallBatchConvCodeTest, OtherFormsNeedThePlainOne) {
  Start(DType::kF16);
  other_forms_ = 0;
  Value& x = Append(graph_, "Sigmoid", {&Input({1, 32, 5, 7})});
  Check({&Conv(x, 64, {})}, 12);
}

// Nine and four groups of copies, each with a remainder: three rounds of addresses and one.
TEST_F(SmallBatchConvCodeTest, OneByOneOfManyChannels) {
  Start(DType::kBF16);
  Check({&Conv(Input({1, 608, 3, 4}), 32, {.has_bias = false})}, 8);
}

TEST_F(SmallBatchConvCodeTest, OneByOneOfEverySecondPixel) {
  Start(DType::kF16);
  Value& r = Input({2, 64, 7, 6});
  Check({&Add(r, Conv(Input({2, 48, 13, 11}), 64, {.stride = 2}))}, 6);
}

// Tiles of several whole rows.
TEST_F(SmallBatchConvCodeTest, ThreeByThreeWithResidual) {
  Start(DType::kF16);
  Value& x = Input({2, 64, 9, 14});
  Check({&Relu(Add(Conv(x, 64, {.kernel = 3}), x))}, 18);
}

// Three groups of copies; rows are two tiles of 35 columns.
TEST_F(SmallBatchConvCodeTest, ThreeByThreeOfWideImages) {
  Start(DType::kF16);
  Check({&Conv(Input({1, 160, 1, 70}), 32, {.kernel = 3})}, 8);
}

// Both phases of the columns, with odd and even widths; for even widths, tiles of 64 pixels have
// patches too large for the plain form.
TEST_F(SmallBatchConvCodeTest, ThreeByThreeOfEverySecondPixel) {
  for (const auto& [width, plain_tiles] : {std::pair(13, 18), std::pair(18, 9)}) {
    Start(DType::kF16);
    Check({&Relu(Conv(Input({1, 64, 11, width}), 64, {.kernel = 3, .stride = 2}))}, plain_tiles);
  }
}

// The 1 × 1 source comes first.
TEST_F(SmallBatchConvCodeTest, SecondSourceIsThreeByThree) {
  Start(DType::kF16);
  Value& branch = Conv(Input({1, 64, 13, 14}), 64, {.stride = 2});
  Check({&Relu(Add(branch, Conv(Input({1, 32, 7, 7}), 64, {.kernel = 3})))}, 12);
}

// Operands that are parts of other tensors: the plain form with and without windows and a second
// source, siblings, and a program.
TEST_F(SmallBatchConvCodeTest, OneByOneBesideOthers) {
  Start(DType::kF16);
  between_pixels_ = 24;
  parameter_bytes_ = sizeof(SmallBatchConvPlainParameters);
  Value& r = Input({1, 64, 3, 5});
  Check({&Relu(Add(Conv(Input({1, 32, 3, 5}), 64, {}), r))}, 12);
}

TEST_F(SmallBatchConvCodeTest, ThreeByThreeBesideOthers) {
  for (const bool has_second : {false, true}) {
    Start(DType::kBF16);
    between_pixels_ = 72;
    parameter_bytes_ = sizeof(SmallBatchConvPlainWindowParameters);
    Value* sum = &Conv(Input({2, 64, 5, 9}), 64, {.kernel = 3});
    if (has_second) {
      sum = &Add(*sum, Conv(Input({2, 32, 10, 17}), 64, {.stride = 2, .has_bias = false}));
    }
    int plans = 0;
    Check(
        {&Relu(*sum)}, [](const SmallBatchPlan& plan) { return plan.tile.split <= 2; },
        [&](const SmallBatchPlan&) { ++plans; });
    EXPECT_EQ(plans, 12);
  }
}

TEST_F(SmallBatchConvCodeTest, SiblingsBesideOthers) {
  Start(DType::kF16);
  between_pixels_ = 8;
  Value& x = Input({1, 32, 5, 8});
  Value& a = Relu(Conv(x, 32, {}));
  Check({&a, &Conv(x, 72, {.has_bias = false})}, 0);
}

TEST_F(SmallBatchConvCodeTest, ElementwiseOpsBesideOthers) {
  Start(DType::kF16);
  between_pixels_ = 40;
  parameter_bytes_ = sizeof(SmallBatchConvWithProgramParameters);
  Value& x = Append(graph_, "Sigmoid", {&Input({1, 32, 6, 9})});
  Value& y = Append(graph_, "Neg", {&Conv(x, 64, {.kernel = 3, .stride = 2})});
  Check(
      {&y}, [](const SmallBatchPlan&) { return true; }, [](const SmallBatchPlan&) {});
}

// What a BatchNormalization becomes, with and without Relu, before windows of one and nine taps: no
// program, also where the image is a part of another tensor. Outside the image there are zeros.
TEST_F(SmallBatchConvCodeTest, AffinePrologues) {
  for (const auto& [dtype, kernel, clamps, between] :
       {std::tuple(DType::kF16, 1, true, 24), std::tuple(DType::kF16, 3, true, 0),
        std::tuple(DType::kBF16, 3, false, 8), std::tuple(DType::kBF16, 1, true, 0)}) {
    Start(dtype);
    between_pixels_ = between;
    parameter_bytes_ = sizeof(SmallBatchConvParameters);
    Value& scaled =
        Append(graph_, "Mul", {&Input({2, 72, 5, 9}), &Weights(graph_, dtype, {72, 1, 1})});
    Value& sum = Append(graph_, "Add", {&Weights(graph_, dtype, {1, 72, 1, 1}), &scaled});
    Value& x = clamps ? Relu(sum) : sum;
    int plans = 0;
    Check(
        {&Relu(Conv(x, 32, {.kernel = kernel}))}, [](const SmallBatchPlan&) { return true; },
        [&](const SmallBatchPlan&) { ++plans; });
    EXPECT_GT(plans, 4);
  }
}

// Cases without a plain form: patches of three phases, windows past the image, filters and channels
// that do not fill a tile or part, siblings, stems, element-wise ops before and after.
TEST_F(SmallBatchConvCodeTest, PhasesOfThreeColumns) {
  Start(DType::kF16);
  Check({&Conv(Input({1, 32, 10, 17}), 32, {.kernel = 5, .stride = 3})}, 0);
}

TEST_F(SmallBatchConvCodeTest, ChannelsAndFiltersThatDoNotFillTiles) {
  Start(DType::kBF16);
  Check({&Relu(Conv(Input({1, 40, 6, 7}), 24, {.kernel = 3}))}, 0);
}

TEST_F(SmallBatchConvCodeTest, Siblings) {
  Start(DType::kF16);
  Value& x = Input({1, 32, 5, 8});
  Value& a = Relu(Conv(x, 32, {}));
  Check({&a, &Conv(x, 72, {.has_bias = false})}, 0);
}

TEST_F(SmallBatchConvCodeTest, Stem) {
  Start(DType::kF16);
  Check({&Relu(Conv(Input({1, 3, 14, 18}), 32, {.kernel = 7, .stride = 2}))}, 0);
}

TEST_F(SmallBatchConvCodeTest, ElementwiseOpsBeforeAndAfter) {
  Start(DType::kF16);
  Value& x = Append(graph_, "Sigmoid", {&Input({1, 32, 6, 9})});
  Value& y = Conv(x, 64, {.kernel = 3, .stride = 2});
  const std::vector<Value*> outputs = {&Append(graph_, "Sigmoid", {&y})};
  Check(
      outputs, [](const SmallBatchPlan&) { return true; },
      [](const SmallBatchPlan& plan) { EXPECT_TRUE(IsPlain(plan)) << "but for its chains"; });
}

}  // namespace
}  // namespace onnx_cudnn
