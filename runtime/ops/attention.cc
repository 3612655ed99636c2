// Attention of f16 and bf16 in the forms that Engines run whole: four dims, without a past, a
// window or a cap; each batch may have a length of its keys. ONNX's function replaces the others,
// and those of f32.
#include "runtime/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int kRank = 4;  // batch, heads, rows, columns
constexpr int kMask = kAttentionMask, kPast = 4, kLengths = kAttentionLengths;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

// q [batch, heads, queries, depth], k [batch, kv_heads, keys, depth], v [batch, kv_heads, keys,
// columns]; heads / kv_heads adjacent heads of q share one of k and v.
struct AttentionShape {
  int64_t batch, heads, queries, depth, kv_heads, keys, columns;

  int64_t scores() const { return batch * heads * queries * keys; }
  int64_t kv_head(int64_t b, int64_t h) const { return b * kv_heads + h / (heads / kv_heads); }
};

AttentionShape ShapeOf(absl::Span<const int64_t> q, absl::Span<const int64_t> v) {
  return {q[0], q[1], q[2], q[3], v[1], v[2], v[3]};
}

// The strides in elements by which a mask broadcasts to [batch, heads, queries, keys].
struct MaskStrides {
  int64_t dims[kRank] = {};

  explicit MaskStrides(absl::Span<const int64_t> mask) {
    int64_t stride = 1;
    for (int i = static_cast<int>(mask.size()) - 1, dim = kRank - 1; i >= 0; --i, --dim) {
      dims[dim] = mask[i] == 1 ? 0 : stride;
      stride *= mask[i];
    }
  }
};

// Adds the mask to the scores of one query.
class Mask {
 public:
  explicit Mask(const ReferenceArgs& args)
      : mask_(args.has_in(kMask) ? args.in[kMask] : TensorRef()), strides_(mask_.dims) {}

  void AddTo(absl::Span<float> scores, int64_t b, int64_t h, int64_t query) const {
    if (!mask_.present()) return;
    const int64_t* s = strides_.dims;
    const int64_t first = b * s[0] + h * s[1] + query * s[2];
    for (size_t j = 0; j < scores.size(); ++j) {
      const int64_t at = first + static_cast<int64_t>(j) * s[3];
      if (mask_.dtype == DType::kBool) {
        if (static_cast<const uint8_t*>(mask_.data)[at] == 0) scores[j] = kMasked;
      } else {
        scores[j] += static_cast<const float*>(mask_.data)[at];
      }
    }
  }

 private:
  const TensorRef mask_;
  const MaskStrides strides_;
};

// Turns the scores of one query into weights; zeros if every key is masked.
void Weigh(absl::Span<float> scores) {
  float largest = kMasked;
  for (const float score : scores) largest = std::isnan(score) ? score : std::max(largest, score);
  double sum = 0;
  for (float& score : scores) {
    score = largest == kMasked ? 0 : std::exp(score - largest);
    sum += score;
  }
  if (sum == 0) return;
  for (float& score : scores) score = static_cast<float>(score / sum);
}

// The keys of each batch that count.
std::vector<int64_t> LengthsOf(const ReferenceArgs& args, const AttentionShape& s) {
  if (!args.has_in(kLengths)) return std::vector<int64_t>(s.batch, s.keys);
  std::vector<int64_t> lengths = IntsOf(args.in[kLengths]);
  for (int64_t& length : lengths) length = std::clamp<int64_t>(length, 0, s.keys);
  return lengths;
}

// In f32, one head after another on each thread.
absl::Status ReferenceAttention(const ReferenceArgs& args) {
  const AttentionShape s = ShapeOf(args.in[0].dims, args.in[2].dims);
  const auto *q = static_cast<const float*>(args.in[0].data),
             *k = static_cast<const float*>(args.in[1].data),
             *v = static_cast<const float*>(args.in[2].data);
  auto* y = static_cast<float*>(args.out[0].data);
  if (args.out[0].elements() == 0) return absl::OkStatus();
  if (s.keys == 0) {
    std::fill_n(y, args.out[0].elements(), 0.0F);
    return absl::OkStatus();
  }
  const Mask mask(args);
  const std::vector<int64_t> lengths = LengthsOf(args, s);
  const bool is_causal = args.node.attrs().Int("is_causal", 0) != 0;
  const float scale = AttentionScale(args.node, s.depth);
  args.threads.ParallelFor(s.batch * s.heads, 1, [&](int64_t head, int64_t end) {
    std::vector<float> scores(s.queries * s.keys);
    for (; head < end; ++head) {
      const int64_t b = head / s.heads, h = head % s.heads, from = s.kv_head(b, h);
      GemmSerial(GemmProblem<float>{.m = s.queries,
                                    .n = s.keys,
                                    .k = s.depth,
                                    .a = q + head * s.queries * s.depth,
                                    .lda = s.depth,
                                    .b = k + from * s.keys * s.depth,
                                    .ldb = s.depth,
                                    .transpose_b = true,
                                    .c = scores.data(),
                                    .ldc = s.keys,
                                    .alpha = scale});
      for (int64_t i = 0; i < s.queries; ++i) {
        const absl::Span<float> row(scores.data() + i * s.keys, s.keys);
        mask.AddTo(row, b, h, i);
        if (is_causal && i + 1 < s.keys) std::fill(row.begin() + i + 1, row.end(), kMasked);
        std::fill(row.begin() + lengths[b], row.end(), kMasked);
        Weigh(row);
      }
      GemmSerial(GemmProblem<float>{.m = s.queries,
                                    .n = s.columns,
                                    .k = s.keys,
                                    .a = scores.data(),
                                    .lda = s.keys,
                                    .b = v + from * s.keys * s.columns,
                                    .ldb = s.columns,
                                    .c = y + head * s.queries * s.columns,
                                    .ldc = s.columns});
    }
  });
  return absl::OkStatus();
}

Support CheckForm(const Node& node) {
  for (int i = kPast; i < kLengths; ++i) {
    if (node.has_input(i)) return Support::No("it has a cache");
  }
  if (node.has_input(kLengths) && node.attrs().Int("is_causal", 0) != 0) {
    return Support::No("it is causal and has lengths of keys");
  }
  for (int i = 1; i < static_cast<int>(node.outputs().size()); ++i) {
    if (node.has_output(i)) return Support::No("it has outputs beside Y");
  }
  if (node.attrs().Float("softcap", 0) != 0) return Support::No("its scores are capped");
  if (node.attrs().Int("left_window_size", -1) >= 0 ||
      node.attrs().Int("right_window_size", -1) >= 0) {
    return Support::No("it has a window");
  }
  return Support::Yes();
}

Support CheckMask(const Value& mask, const Node& node) {
  const DType dtype = mask.dtype();
  if (dtype != DType::kBool && dtype != DType::kF32 && dtype != node.input(0).dtype()) {
    return Support::No(absl::StrCat("its mask is ", NameOf(dtype)));
  }
  if (mask.rank() > kRank) return Support::No(absl::StrCat("its mask has rank ", mask.rank()));
  if (!mask.is_static()) return Support::Yes();
  const Dims dims = mask.dims(), q = node.input(0).dims();
  const Dims scores = {q[0], q[1], q[2], node.input(1).dim(2)};
  for (int i = static_cast<int>(dims.size()) - 1, dim = kRank - 1; i >= 0; --i, --dim) {
    if (dims[i] == 1 || dims[i] == scores[dim]) continue;
    return Support::No(absl::StrCat("its mask ", ToString(absl::MakeConstSpan(dims)),
                                    " does not broadcast to ",
                                    ToString(absl::MakeConstSpan(scores))));
  }
  return Support::Yes();
}

Support CheckDims(const Node& node) {
  const Dims q = node.input(0).dims(), k = node.input(1).dims(), v = node.input(2).dims();
  const bool fits = k[0] == q[0] && v[0] == q[0] && k[3] == q[3] && k[1] == v[1] && k[2] == v[2] &&
                    v[1] > 0 && q[1] % v[1] == 0;
  if (fits) return Support::Yes();
  return Support::No(absl::StrCat("q ", ToString(absl::MakeConstSpan(q)), ", k ",
                                  ToString(absl::MakeConstSpan(k)), " and v ",
                                  ToString(absl::MakeConstSpan(v)), " do not fit together"));
}

Support CheckAttention(const Node& node) {
  if (Support s = CheckForm(node); !s) return s;
  if (Support s = CheckSameDType(node, kMask); !s) return s;
  bool is_static = true;
  for (int i = 0; i < kMask; ++i) {
    if (node.input(i).rank() != kRank) {
      return Support::No(
          absl::StrCat("input ", i, " has rank ", node.input(i).rank(), ", expected ", kRank));
    }
    is_static = is_static && node.input(i).is_static();
  }
  if (!is_static) return Support::Yes();
  if (Support s = CheckDims(node); !s) return s;
  if (node.has_input(kLengths) && node.input(kLengths).dims() != Dims{node.input(0).dim(0)}) {
    return Support::No("its lengths of keys are not one per batch");
  }
  return node.has_input(kMask) ? CheckMask(node.input(kMask), node) : Support::Yes();
}

Cost AttentionCost(const Node& node) {
  const AttentionShape s = ShapeOf(node.input(0).dims(), node.input(2).dims());
  const int64_t products = 2 * s.scores() * (s.depth + s.columns);
  return {.us = ScalarUs(2 * s.scores()),
          .flops = products + 5 * s.scores(),
          .bytes = IoBytes(node),
          .blas_flops = products};
}

}  // namespace

float AttentionScale(const Node& attention, int64_t channels) {
  return attention.attrs().Float("scale", 1 / std::sqrt(static_cast<float>(channels)));
}

OpDef AttentionOp() {
  return WidenedOp<ReferenceAttention>({.types = {DType::kF16, DType::kBF16},
                                        .check = CheckAttention,
                                        .cost = AttentionCost,
                                        .traits = {.anchor = true}});
}

}  // namespace onnx_cudnn
