#include "runtime/kernels/attention/attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

// Per head, of q and of v, and keys. What runs is limited by shared memory alone. These are
// guesses: the largest heads that were timed have 40 keys and 15 channels (docs/measurements.md,
// 'Findings while kernels were built').
constexpr int64_t kFewChannels = 128;
constexpr int64_t kFewKeys = 1024;
// Multiplications. For larger products, tensor cores are assumed to be faster despite more
// launches: a guess, not measured yet.
constexpr int64_t kFewProducts = 1 << 25;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kWordBytes = 4;

bool IsOp(const Node* node, std::string_view op) {
  return node != nullptr && node->domain().empty() && node->op() == op;
}

// The producer of `v` if `v` has one reader; nullptr: no producer, or more readers.
const Node* WriterOf(const Value& v) {
  return v.has_one_use() && v.is_static() ? v.producer() : nullptr;
}
// The only reader of `v`.
const Node* ReaderOf(const Value& v) { return v.is_static() ? v.only_reader() : nullptr; }

bool IsNumber(const Value& v) { return v.is_constant() && v.elements() == 1; }

// The input that a Mul or Div scales by one constant; -1: it does not.
int ScaledInput(const Node* node) {
  const bool divides = IsOp(node, "Div");
  if (!divides && !IsOp(node, "Mul")) return -1;
  const int input = !divides && IsNumber(node->input(0)) ? 1 : 0;
  const bool scales =
      IsNumber(node->input(1 - input)) && node->input(input).rank() == node->output(0).rank();
  return scales ? input : -1;
}

double FactorOf(const Node& scaling) {
  const HostTensor& number = scaling.input(1 - ScaledInput(&scaling)).constant();
  const double factor = VisitElementType(
      number.dtype(), [&](auto e) { return Widen<double>(number.data<decltype(e)>()[0]); });
  return scaling.op() == "Div" ? 1 / factor : factor;
}

// Whether it is a Transpose that exchanges the last two axes.
bool IsTransposedMatrix(const Node* node) {
  if (!IsOp(node, "Transpose")) return false;
  std::vector<int64_t> perm = TransposePerm(*node, node->input(0).rank());
  if (perm.size() < 2) return false;
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The product that writes `v`, its scaling and its conversion, in order. Empty: `v` is something
// else.
NodeList ScaledProduct(const Value& v) {
  NodeList nodes;
  const Node* node = WriterOf(v);
  for (; ScaledInput(node) >= 0 || IsOp(node, "Cast");
       node = WriterOf(node->input(std::max(ScaledInput(node), 0)))) {
    nodes.insert(nodes.begin(), node);
  }
  if (!IsOp(node, "MatMul")) return {};
  nodes.insert(nodes.begin(), node);
  return nodes;
}

// From the first product to the input of `softmax`.
NodeList ScoresBefore(const Node& softmax) {
  NodeList behind;
  const Value* scores = &softmax.input(0);
  if (const Node* cast = WriterOf(*scores); IsOp(cast, "Cast")) {
    behind.push_back(cast);
    scores = &cast->input(0);
  }
  NodeList nodes;
  if (const Node* add = WriterOf(*scores); IsOp(add, "Add")) {
    behind.insert(behind.begin(), add);
    nodes = ScaledProduct(add->input(0));
    if (nodes.empty()) nodes = ScaledProduct(add->input(1));
  } else {
    nodes = ScaledProduct(*scores);
  }
  if (!nodes.empty()) nodes.insert(nodes.end(), behind.begin(), behind.end());
  return nodes;
}

// The Nodes that scale q and k before `product` and transpose k.
NodeList FrontOf(const Node& product) {
  NodeList nodes;
  for (const int operand : {1, 0}) {
    const Node* node = WriterOf(product.input(operand));
    while (ScaledInput(node) >= 0 || (operand == 1 && IsTransposedMatrix(node))) {
      nodes.insert(nodes.begin(), node);
      node = WriterOf(node->input(std::max(ScaledInput(node), 0)));
    }
  }
  return nodes;
}

// The attention around `softmax`, from its first product on, with and without the Nodes before it.
std::vector<NodeList> CoresOf(const Node& softmax) {
  NodeList nodes = ScoresBefore(softmax);
  if (nodes.empty()) return {};
  nodes.push_back(&softmax);
  if (const Node* cast = ReaderOf(softmax.output(0)); IsOp(cast, "Cast")) nodes.push_back(cast);
  const Value& probabilities = nodes.back()->output(0);
  const Node* product = ReaderOf(probabilities);
  if (!IsOp(product, "MatMul") || &product->input(0) != &probabilities) return {};
  nodes.push_back(product);
  NodeList whole = FrontOf(*nodes[0]);
  if (whole.empty()) return {nodes};
  whole.insert(whole.end(), nodes.begin(), nodes.end());
  return {nodes, whole};
}

// The Softmax whose probabilities `product` may multiply.
const Node* SoftmaxBefore(const Node& product) {
  const Node* node = WriterOf(product.input(0));
  return IsOp(node, "Cast") ? WriterOf(node->input(0)) : node;
}

// The Softmax that may read the result of `product`.
const Node* SoftmaxBehind(const Node& product) {
  const Node* node = ReaderOf(product.output(0));
  while (ScaledInput(node) >= 0 || IsOp(node, "Add") || IsOp(node, "Cast")) {
    node = ReaderOf(node->output(0));
  }
  return node;
}

std::vector<NodeList> AroundAnchor(const Node& anchor) {
  if (IsOp(&anchor, "Attention")) return {{&anchor}};
  if (IsOp(&anchor, "Softmax")) return CoresOf(anchor);
  std::vector<NodeList> cores;
  for (const Node* softmax : {SoftmaxBefore(anchor), SoftmaxBehind(anchor)}) {
    if (!IsOp(softmax, "Softmax")) continue;
    for (NodeList& core : CoresOf(*softmax)) {
      if (Contains(core, &anchor)) cores.push_back(std::move(core));
    }
  }
  return cores;
}

Support Unlike(const Value& v, const Value& other) {
  return Support::No(absl::StrCat(v.name(), " is ", ToString(v.type()), ", ", other.name(), " is ",
                                  ToString(other.type())));
}

// Scores may be converted to f32 after a product of another type.
Support CheckCasts(const Unit& core, DType dtype) {
  for (const Node* node : core.nodes) {
    if (node->op() != "Cast") continue;
    const DType to = node->output(0).dtype();
    if (to == DType::kF32 || to == dtype) continue;
    return Support::No(absl::StrCat(node->output(0).name(), " is ", NameOf(to)));
  }
  return Support::Yes();
}

Support CheckTypes(const AttentionNodes& nodes) {
  for (const Value* v : {nodes.q, nodes.k}) {
    if (v->is_constant()) return Support::No(absl::StrCat(v->name(), " is a constant"));
  }
  for (const Value* v : {nodes.k, nodes.v}) {
    if (v->dtype() != nodes.q->dtype()) return Unlike(*v, *nodes.q);
  }
  const Dims heads = nodes.q->dims();
  if (heads.size() < 3) {
    return Support::No(absl::StrCat(nodes.q->name(), " has rank ", heads.size(), ", less than 3"));
  }
  for (const Value* v : {nodes.k, nodes.v}) {
    const Dims dims = v->dims();
    if (dims.size() != heads.size() || !std::equal(heads.begin(), heads.end() - 2, dims.begin())) {
      return Unlike(*v, *nodes.q);
    }
  }
  if (nodes.is_one_op()) return Support::Yes();
  const Value& masked = nodes.softmax->input(0);
  if (masked.dims() != nodes.scores) return Unlike(masked, *nodes.product);
  const int rank = nodes.product->rank();
  if (NormalizedAxis(nodes.softmax->attrs().Int("axis", -1), rank) == rank - 1) {
    return Support::Yes();
  }
  return Support::No("its Softmax is not along the last axis");
}

// Of the op Attention, whose types and dims fit together.
Support CheckForm(const Node& node) {
  if (node.op() != "Attention") return Support::Yes();
  if (node.attrs().Int("is_causal", 0) != 0) return Support::No("it is causal");
  if (node.has_input(kAttentionLengths)) return Support::No("it has lengths of keys");
  const bool selects = node.has_input(3) && node.input(3).dtype() == DType::kBool;
  return selects ? Support::No("its mask is bool") : Support::Yes();
}

Support Takes(const Unit& core) {
  if (Support s = CheckForm(core.node()); !s) return s;
  const AttentionNodes nodes = ReadAttention(core.nodes);
  if (Support s = CheckTypes(nodes); !s) return s;
  if (Support s = CheckCasts(core, nodes.q->dtype()); !s) return s;
  if (nodes.q->elements() == 0 || ElementsOf(nodes.scores) == 0 || nodes.y->elements() == 0) {
    return Support::No("an operand is empty");
  }
  if (nodes.heads() * nodes.queries() > std::numeric_limits<int32_t>::max()) {
    return Support::No(
        absl::StrCat(nodes.heads() * nodes.queries(), " queries are more than a grid has blocks"));
  }
  const int64_t bytes = MemoryOf(nodes, 1).bytes;
  if (bytes <= kAttentionMostSharedBytes) return Support::Yes();
  return Support::No(absl::StrCat("k and v of a head need ", bytes,
                                  " bytes of shared memory, more than ",
                                  kAttentionMostSharedBytes));
}

bool IsLarge(const Unit& unit, const DeviceInfo&) {
  const AttentionNodes nodes = ReadAttention(unit.nodes);
  const int64_t products = ElementsOf(nodes.scores) * (nodes.depth() + nodes.columns());
  return products > kFewProducts || nodes.keys() > kFewKeys ||
         std::max(nodes.depth(), nodes.columns()) > kFewChannels;
}

double Us(const Unit&, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.attention;
  const double arithmetic_us =
      static_cast<double>(roofline.flops) / (calibration.arithmetic * target.info.f32_flops_per_us);
  const double traffic_us = static_cast<double>(roofline.bytes) / target.info.bytes_per_us;
  return std::max(calibration.fixed_us + arithmetic_us + traffic_us, roofline.us);
}

int64_t RoundedUp(int64_t bytes) { return CeilDiv(bytes, kVectorBytes) * kVectorBytes; }

// The operands of the op Attention.
AttentionNodes OperandsOf(const Node& node) {
  AttentionNodes found{};
  found.q = &node.input(0);
  found.k = &node.input(1);
  found.v = &node.input(2);
  found.mask = node.has_input(3) ? &node.input(3) : nullptr;
  found.y = &node.output(0);
  found.scores = found.q->dims();
  found.scores.back() = found.k->dim(2);
  found.keys_are_rows = true;
  found.scale = AttentionScale(node, found.depth());
  return found;
}

}  // namespace

AttentionNodes ReadAttention(absl::Span<const Node* const> nodes) {
  if (nodes[0]->op() == "Attention") return OperandsOf(*nodes[0]);
  AttentionNodes found{};
  const auto writer_of = [&](const Value& v) {
    return v.producer() != nullptr && Contains(nodes, v.producer()) ? v.producer() : nullptr;
  };
  const auto source_of = [&](const Value* v) {
    for (const Node* node = writer_of(*v); node != nullptr; node = writer_of(*v)) {
      v = &node->input(std::max(ScaledInput(node), 0));
    }
    return v;
  };
  double scale = 1;
  for (const Node* node : nodes) {
    if (ScaledInput(node) >= 0) {
      scale *= FactorOf(*node);
    } else if (node->op() == "Transpose") {
      found.keys_are_rows = !found.keys_are_rows;
    } else if (node->op() == "Add") {
      found.mask = &node->input(writer_of(node->input(0)) == nullptr ? 0 : 1);
    } else if (node->op() == "Softmax") {
      found.softmax = node;
    } else if (node->op() == "MatMul" && found.product == nullptr) {
      found.product = &node->output(0);
      found.scores = found.product->dims();
      found.q = source_of(&node->input(0));
      found.k = source_of(&node->input(1));
    }
  }
  found.scale = static_cast<float>(scale);
  found.v = &nodes.back()->input(1);
  found.y = &nodes.back()->output(0);
  return found;
}

AttentionMemory MemoryOf(const AttentionNodes& nodes, int rows) {
  const int64_t element_bytes = BitsOf(nodes.y->dtype()) / 8;
  const int64_t row = nodes.keys_are_rows ? nodes.depth() : nodes.keys();
  const int64_t warp_bytes = int64_t{sizeof(float)} * rows;
  AttentionMemory memory{.k_pitch = row};
  // Lanes read the same channel of adjacent keys. If keys are rows, a pitch of an odd number of
  // words places them in different banks.
  if (nodes.keys_are_rows) {
    memory.k_pitch = (CeilDiv(row * element_bytes, kWordBytes) | 1) * kWordBytes / element_bytes;
  }
  memory.scores_at = RoundedUp(kAttentionWarps * warp_bytes * nodes.depth());
  memory.k_at = memory.scores_at + RoundedUp(kAttentionWarps * warp_bytes * nodes.keys());
  const int64_t k_rows = nodes.keys_are_rows ? nodes.keys() : nodes.depth();
  memory.v_at = memory.k_at + RoundedUp(k_rows * memory.k_pitch * element_bytes);
  memory.bytes = memory.v_at + nodes.keys() * nodes.columns() * element_bytes;
  return memory;
}

// Attention over few keys in one launch: MatMul(q, k), its scaling, the Add of a mask that
// broadcasts, Softmax along the last axis, MatMul with v, in f32, f16 or bf16. If nothing else
// reads them, also Nodes that scale q or k before, a Transpose of k's last two axes, and Casts of
// the scores to f32 and of the Softmax result back. Or the op Attention with as many heads of k and
// v as of q, neither causal nor with a mask of bools. Heads whose k and v take up to 96 KiB, any
// alignment (best up to 128 channels and 1,024 keys). Computes in f32 without tensor cores, with
// sums in a fixed order.
Kernel AttentionKernel() {
  return {.ops = {"Attention", "MatMul", "Softmax"},
          .types = {DType::kF32, DType::kF16, DType::kBF16},
          .needs = {.shared_bytes = kAttentionMostSharedBytes},
          .cores = AroundAnchor,
          .takes = Takes,
          .us = Us,
          .beyond_fit = IsLarge};
}

}  // namespace onnx_cudnn
