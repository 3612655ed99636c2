#include "runtime/kernels/cuda/conv/small_batch_conv.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_plain.h"
#include "runtime/kernels/cuda/pointwise/epilogue_builder.h"
#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/interleaved.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

bool IsOutput(const Unit& unit, const Value& value) {
  const auto& outputs = unit.boundary.outputs;
  return std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

absl::StatusOr<SmallBatchPlan> PlanOf(const KernelRequest& request, const UnitConvs& convs) {
  const DeviceInfo& info = request.target.info;
  if (!request.variant.empty()) {
    ASSIGN_OR_RETURN(const SmallBatchTile tile, ParseSmallBatchTile(request.variant));
    return PlanSmallBatch(convs, tile, info.shared_bytes_per_block);
  }
  const std::vector<SmallBatchPlan> plans = SmallBatchPlansOf(convs, info);
  if (!plans.empty()) return plans[0];
  return absl::UnimplementedError("no tile holds its depth in shared memory");
}

// Elements from a pixel to the next of an operand with channels innermost.
absl::StatusOr<int64_t> PitchOf(const KernelOperand& operand, int64_t multiple) {
  if (const auto pitch = PixelPitch(operand.format, operand.dims(), multiple)) return *pitch;
  return absl::UnimplementedError(absl::StrCat(operand.value->name(), " lies as (",
                                               operand.format.ToString(), "), not channels-last"));
}

// Whether the same offset leads to the same element.
bool LiesAs(const KernelOperand& a, const KernelOperand& b) {
  const auto pitch = PixelPitch(a.format, a.dims());
  return pitch.has_value() && pitch == PixelPitch(b.format, b.dims());
}

// The element-wise Nodes of a Unit: prologues of the images, and epilogues of the outputs.
struct ElementwiseNodes {
  NodeList prologue[kSmallBatchSources];
  NodeList epilogue[kSmallBatchSiblings];
};

// The output whose epilogue contains the Node, which is neither a Conv nor the sum of two; -1:
// none.
int SiblingOf(const Node& node, const UnitConvs& convs, const std::map<const Node*, int>& known) {
  for (const Value* v : node.inputs()) {
    const Node* producer = v == nullptr ? nullptr : v->producer();
    const auto it = known.find(producer);
    if (producer != nullptr && it != known.end()) return it->second;
  }
  for (const Use& use : node.output(0).uses()) {
    const auto it = known.find(use.node);
    if (it != known.end() && use.node->op() != "Conv") return it->second;
  }
  return convs.convs.size() == 1 || convs.summed ? 0 : -1;
}

absl::StatusOr<ElementwiseNodes> NodesOf(const Unit& unit, const UnitConvs& convs) {
  ElementwiseNodes nodes;
  std::map<const Node*, int> sibling;
  NodeList rest;
  for (size_t i = 0; i < convs.convs.size(); ++i) {
    sibling[convs.convs[i]] = convs.summed ? 0 : static_cast<int>(i);
  }
  if (convs.summed) sibling[convs.sum] = 0;
  for (int i = 0; i < (convs.summed ? 2 : 1); ++i) {
    const NodeList before = NodesBefore(*convs.convs[i], unit.nodes);
    std::copy_if(unit.nodes.begin(), unit.nodes.end(), std::back_inserter(nodes.prologue[i]),
                 [&](const Node* node) { return node != convs.pad && Contains(before, node); });
    for (const Node* node : nodes.prologue[i]) {
      if (!sibling.contains(node) && !IsOutput(unit, node->output(0))) continue;
      return absl::UnimplementedError(
          absl::StrCat(node->output(0).name(), " is needed beside the convolution"));
    }
  }
  for (const Node* node : unit.nodes) {
    const bool before = Contains(nodes.prologue[0], node) || Contains(nodes.prologue[1], node);
    if (!before && node != convs.pad && !sibling.contains(node)) rest.push_back(node);
  }
  // First readers, in order; then, from the last Node back, producers that are not assigned yet.
  for (const bool backward : {false, true}) {
    NodeList order = rest;
    if (backward) std::reverse(order.begin(), order.end());
    for (const Node* node : order) {
      if (sibling.contains(node)) continue;
      if (const int s = SiblingOf(*node, convs, sibling); s >= 0) sibling[node] = s;
    }
  }
  for (const Node* node : rest) {
    if (!sibling.contains(node)) {
      return absl::UnimplementedError(absl::StrCat(node->op(), " belongs to no convolution"));
    }
    nodes.epilogue[sibling[node]].push_back(node);
  }
  return nodes;
}

// An epilogue that consists of an optional residual and an optional activation.
struct PlainEpilogue {
  const Value* residual = nullptr;
  Activation activation;
  const Value* y = nullptr;
};

// The activation that `nodes` compute on `x` from position i on; kNone: something else.
Activation ActivationAt(const NodeList& nodes, size_t i, const Value& x) {
  const Node& node = *nodes[i];
  if (i + 1 < nodes.size() && IsGate(node, *nodes[i + 1]) && &node.input(0) == &x &&
      node.output(0).has_one_use()) {
    return {Activation::Kind::kGate};
  }
  return node.has_input(0) && &node.input(0) == &x ? ActivationOf(node) : Activation{};
}

// y is nullptr if the Nodes compute something else.
PlainEpilogue PlainOf(const Unit& unit, const Value& start, const NodeList& nodes) {
  using Kind = Activation::Kind;
  PlainEpilogue plain;
  const Value* at = &start;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (IsOutput(unit, *at) || plain.activation.kind != Kind::kNone) return {};
    plain.activation = ActivationAt(nodes, i, *at);
    if (plain.activation.kind == Kind::kGate) ++i;
    const Node& node = *nodes[i];
    if (plain.activation.kind == Kind::kNone) {
      if (node.op() != "Add" || plain.residual != nullptr) return {};
      const bool first = &node.input(0) == at;
      const Value& other = node.input(first ? 1 : 0);
      if (!(first || &node.input(1) == at) || &other == at || other.type() != start.type()) {
        return {};
      }
      plain.residual = &other;
    }
    at = &node.output(0);
  }
  const bool ends = IsOutput(unit, *at) && at->dtype() == start.dtype();
  const bool reads_memory = plain.residual == nullptr || plain.residual->producer() == nullptr ||
                            !Contains(unit.nodes, plain.residual->producer());
  if (ends && reads_memory) plain.y = at;
  return plain;
}

// Assembles the parameters of the launch.
class Assembler {
 public:
  Assembler(const KernelRequest& request, const UnitConvs& convs, const SmallBatchPlan& plan)
      : unit_(request.unit),
        convs_(convs),
        plan_(plan),
        operands_(request),
        epilogues_(unit_, operands_) {}

  absl::StatusOr<KernelCode> Assemble() {
    ASSIGN_OR_RETURN(const ElementwiseNodes nodes, NodesOf(unit_, convs_));
    SetShape();
    for (int i = 0; i < plan_.sources; ++i) RETURN_IF_ERROR(AddImage(i, nodes.prologue[i]));
    p_.step_table_at = table_;
    for (int i = 0; i < plan_.siblings; ++i) RETURN_IF_ERROR(AddOutput(i, nodes.epilogue[i]));
    slabs_ = operands_.Constant(PackSmallBatchWeights(convs_, plan_, unit_));
    const bool is_affine = scale_[0].has_value() || scale_[1].has_value();
    const bool is_plain = epilogues_.segments() == 0 && !is_affine && IsPlain(plan_) &&
                          !(Activates() && plan_.sources > 1);
    const SmallBatchForm form = plan_.tile.form;
    if (!is_plain && form != SmallBatchForm::kUsual) {
      return absl::UnimplementedError(
          absl::StrCat(plan_.tile.ToString(), " is for convolutions that the plain form takes"));
    }
    return OneCall(is_plain && form != SmallBatchForm::kGeneral ? PlainCall() : Call(), operands_);
  }

 private:
  DType dtype() const { return convs_.convs[0]->input(0).dtype(); }

  // Whether the activation is something other than Relu.
  bool Activates() const {
    return std::any_of(p_.output, p_.output + plan_.siblings, [](const SmallBatchConvOutput& out) {
      return out.activation.kind > Activation::Kind::kRelu;
    });
  }

  KernelCall Call() {
    const LaunchShape shape{.grid = {static_cast<unsigned>(plan_.blocks())},
                            .block = {kSmallBatchThreads},
                            .shared_bytes = plan_.shared_bytes(),
                            .cluster = plan_.tile.split};
    const auto make = dtype() == DType::kF16 ? SmallBatchConvF16Call : SmallBatchConvBF16Call;
    const bool has_program = epilogues_.segments() > 0 || Activates();
    KernelCall call = make(plan_.tile.pixels, plan_.tile.filters, shape, p_,
                           has_program ? &epilogues_.program() : nullptr);
    call.next_uses_pdl_at = offsetof(SmallBatchConvParameters, next_uses_pdl);
    call.Bind(offsetof(SmallBatchConvParameters, slabs), slabs_);
    for (int i = 0; i < plan_.sources; ++i) {
      if (!x_[i]) continue;
      const size_t at = offsetof(SmallBatchConvParameters, image) + i * sizeof(SmallBatchConvImage);
      call.Bind(at + offsetof(SmallBatchConvImage, x), *x_[i]);
      if (scale_[i]) call.Bind(at + offsetof(SmallBatchConvImage, scale), *scale_[i]);
      if (shift_[i]) call.Bind(at + offsetof(SmallBatchConvImage, shift), *shift_[i]);
    }
    for (int i = 0; i < plan_.siblings; ++i) {
      const size_t at =
          offsetof(SmallBatchConvParameters, output) + i * sizeof(SmallBatchConvOutput);
      if (y_[i]) call.Bind(at + offsetof(SmallBatchConvOutput, y), *y_[i]);
      if (residual_[i]) call.Bind(at + offsetof(SmallBatchConvOutput, residual), *residual_[i]);
    }
    if (has_program) epilogues_.Bind(call, offsetof(SmallBatchConvWithProgramParameters, program));
    return call;
  }

  KernelCall PlainCall() const {
    using Parameters = SmallBatchConvPlainParameters;
    PlainConv conv = PlainConvOf(plan_);
    conv.parameters.conv.next_starts_late = plan_.tile.form == SmallBatchForm::kLate;
    conv.parameters.conv.activation = p_.output[0].activation;
    conv.form.activates = Activates();
    const auto make =
        dtype() == DType::kF16 ? SmallBatchConvPlainF16Call : SmallBatchConvPlainBF16Call;
    KernelCall call = make(conv.form, conv.shape, conv.parameters);
    call.next_uses_pdl_at = offsetof(Parameters, next_uses_pdl);
    call.Bind(offsetof(Parameters, slabs), slabs_);
    for (int i = 0; i < plan_.sources; ++i) {
      const size_t at = offsetof(Parameters, source) + i * sizeof(SmallBatchConvPlainSource);
      call.Bind(at + offsetof(SmallBatchConvPlainSource, x), *x_[conv.source[i]]);
    }
    call.Bind(offsetof(Parameters, y), *y_[0]);
    if (residual_[0]) call.Bind(offsetof(Parameters, residual), *residual_[0]);
    return call;
  }

  void SetShape() {
    p_.tiling = plan_.tiling;
    p_.sources = plan_.sources, p_.siblings = plan_.siblings;
    p_.steps = plan_.steps;
    p_.split = plan_.tile.split;
    while ((1 << p_.log_split) < p_.split) ++p_.log_split;
    p_.slab_bytes = SmallBatchSlabBytes(plan_.tile.filters, plan_.steps);
    p_.patch_at = plan_.slab_bytes;
    p_.received_at = p_.patch_at + plan_.patch_bytes;
    p_.table_at = p_.received_at + plan_.received_bytes;
    table_ = plan_.tile.pixels;
  }

  absl::Status AddImage(int i, const NodeList& prologue) {
    const Value& x = convs_.image(i);
    const SmallBatchSource& s = plan_.source[i];
    SmallBatchConvImage& image = p_.image[i];
    image.prologue = -1;
    image.patch_at = patch_;
    image.table_at = table_;
    image.pieces = FastDivide<uint32_t>(s.is_stem ? 1 : s.part_channels / kSmallBatchPiece);
    image.columns = FastDivide<uint32_t>(s.patch_columns());
    patch_ += s.patch_bytes;
    table_ += s.patch_pixels();
    const std::optional<AffinePrologue> affine = AffinePrologueOf(*convs_.convs[i], unit_);
    if (!prologue.empty() && !affine.has_value()) {
      p_.source[i] = s;
      image.prologue = epilogues_.segments();
      return epilogues_.Add(nullptr, prologue, &x, x.dims(), /*along_columns=*/false);
    }
    const KernelOperand operand = operands_.Of(affine.has_value() ? *affine->x : x);
    if (affine.has_value()) {
      image.clamps = affine->clamps;
      scale_[i] = operands_.Of(*affine->scale).slot;
      shift_[i] = operands_.Of(*affine->shift).slot;
    }
    ASSIGN_OR_RETURN(const int64_t pitch, PitchOf(operand, s.is_stem ? kSmallBatchFewChannels : 1));
    plan_.source[i].lanes = static_cast<int>(pitch);
    p_.source[i] = s;
    x_[i] = operand.slot;
    return absl::OkStatus();
  }

  absl::Status AddOutput(int i, const NodeList& epilogue) {
    const Value& start = convs_.summed ? convs_.sum->output(0) : convs_.convs[i]->output(0);
    SmallBatchConvOutput& out = p_.output[i];
    out.filters = plan_.filters[i];
    out.pitch = static_cast<int>(plan_.pitch[i]);
    out.first_tile = plan_.first_tile[i];
    out.epilogue = -1;
    const PlainEpilogue plain = PlainOf(unit_, start, epilogue);
    std::optional<KernelOperand> residual;
    if (plain.residual != nullptr) residual = operands_.Of(*plain.residual);
    // A residual in another layout than y, like a row-major constant, is read by a program.
    if (plain.y == nullptr || (residual && !LiesAs(*residual, operands_.Of(*plain.y)))) {
      out.epilogue = epilogues_.segments();
      return epilogues_.Add(&start, epilogue, nullptr, start.dims(), /*along_columns=*/false);
    }
    const KernelOperand y = operands_.Of(*plain.y);
    ASSIGN_OR_RETURN(plan_.pitch[i], PitchOf(y, 1));
    out.pitch = static_cast<int>(plan_.pitch[i]);
    out.activation = plain.activation;
    y_[i] = y.slot;
    if (residual) residual_[i] = residual->slot;
    return absl::OkStatus();
  }

  const Unit& unit_;
  const UnitConvs& convs_;
  SmallBatchPlan plan_;  // with the pitches of this launch's operands
  Operands operands_;
  EpilogueBuilder epilogues_;
  SmallBatchConvParameters p_ = {};
  // nullopt for addresses that an epilogue program reads or writes.
  std::optional<Slot> x_[kSmallBatchSources], y_[kSmallBatchSiblings],
      residual_[kSmallBatchSiblings];
  std::optional<Slot> scale_[kSmallBatchSources], shift_[kSmallBatchSources];  // affine prologues
  Slot slabs_ = Slot::Workspace();
  int patch_ = 0, table_ = 0;
};

}  // namespace

// Convolutions that runtime/kernels/conv/small_batch_conv.cc accepts. Refuses a depth that no tile
// can hold in shared memory, and element-wise ops that an epilogue program cannot hold
// (epilogue_builder.h).
absl::StatusOr<KernelCode> CompileSmallBatchConv(const KernelRequest& request) {
  ASSIGN_OR_RETURN(const UnitConvs convs, UnitConvsOf(request.unit));
  ASSIGN_OR_RETURN(const SmallBatchPlan plan, PlanOf(request, convs));
  return Assembler(request, convs, plan).Assemble();
}

}  // namespace onnx_cudnn
