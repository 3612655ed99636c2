// Einsum by contractions of two tensors at a time, in the order of einsum_plan.h. Floats are
// multiplied and summed in double, integers wrap.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/einsum_plan.h"
#include "runtime/ops/strided_axes.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/sums.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;
// For smaller products a loop is faster than a BLAS call.
constexpr int64_t kSmallProduct = 8 * 8 * 8;
constexpr int64_t kBlock = 256;  // sums computed together, so that they stay in L1

absl::StatusOr<EinsumPlan> PlanOf(const Node& node, const std::vector<Dims>& dims) {
  std::vector<size_t> ranks;
  for (const Dims& d : dims) ranks.push_back(d.size());
  ASSIGN_OR_RETURN(EinsumEquation equation,
                   EinsumEquationOf(node.attrs().String("equation", ""), ranks));
  return PlanEinsum(std::move(equation), dims);
}

absl::StatusOr<EinsumPlan> StaticPlanOf(const Node& node) {
  std::vector<Dims> dims;
  for (const Value* v : node.inputs()) dims.push_back(v->dims());
  return PlanOf(node, dims);
}

// The axes for `labels` of an operand; a diagonal steps along all its axes at once.
StridedAxes AxesOf(const EinsumPlan& plan, size_t operand, absl::Span<const int64_t> dims,
                   std::string_view labels) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  StridedAxes axes;
  for (char label : labels) {
    int64_t stride = 0;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a] != 1 && plan.equation.terms[operand][a] == label) stride += strides[a];
    }
    axes.Add(plan.extents.at(label), stride);
  }
  return axes;
}

// Calls f(i, run) for parts [i, i + run) of [0, n) that do not cross a multiple of `extent`.
template <typename F>
void ForEachRun(ThreadPool& threads, int64_t n, int64_t extent, int64_t work, F&& f) {
  threads.ParallelFor(n, GrainFor(work), [&](int64_t i, int64_t end) {
    while (i < end) {
      const int64_t run = std::min(end - i, extent - i % extent);
      f(i, run);
      i += run;
    }
  });
}

// Adds to sums[0, n), which are `step` apart in x, the elements along `axes` and `inner` from
// there.
template <typename T, typename Sum>
void AddColumns(const T* x, int64_t step, const StridedAxes& axes, StridedAxes::Axis inner,
                int64_t n, Sum* sums) {
  for (int64_t j = 0; j < axes.count(); ++j) {
    const T* row = x + axes.OffsetOf(j);
    for (int64_t k = 0; k < inner.extent; ++k, row += inner.stride) {
      for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<Sum>(row[i * step]);
    }
  }
}

template <typename T, typename Sum>
Sum SumOfRows(const T* x, const StridedAxes& axes, StridedAxes::Axis inner) {
  Sum sum = 0;
  for (int64_t j = 0; j < axes.count(); ++j) {
    const T* row = x + axes.OffsetOf(j);
    if (std::is_floating_point_v<T> && inner.stride == 1) {
      sum += static_cast<Sum>(SumOf(row, inner.extent));
      continue;
    }
    for (int64_t k = 0; k < inner.extent; ++k) sum += static_cast<Sum>(row[k * inner.stride]);
  }
  return sum;
}

// to[i] = Σ_j from[kept(i) + summed(j)]; `to` is dense.
template <typename From, typename To>
void SumAxes(ThreadPool& threads, const From* from, StridedAxes kept, StridedAxes summed, To* to) {
  using Sum = AccumulatorOf<From>;
  const int64_t outputs = kept.count(), terms = summed.count();
  const StridedAxes::Axis last = kept.TakeInnermost(), inner = summed.TakeInnermost();
  ForEachRun(threads, outputs, last.extent, terms, [&](int64_t i, int64_t run) {
    const From* x = from + kept.OffsetOf(i / last.extent) + i % last.extent * last.stride;
    if (terms == 1) {
      for (int64_t r = 0; r < run; ++r)
        to[i + r] = static_cast<To>(static_cast<Sum>(x[r * last.stride]));
    } else if (inner.stride < last.stride || run == 1) {
      for (int64_t r = 0; r < run; ++r)
        to[i + r] = static_cast<To>(SumOfRows<From, Sum>(x + r * last.stride, summed, inner));
    } else {
      for (int64_t r = 0; r < run; r += kBlock) {
        Sum sums[kBlock] = {};
        const int64_t n = std::min(kBlock, run - r);
        AddColumns(x + r * last.stride, last.stride, summed, inner, n, sums);
        std::transform(sums, sums + n, to + i + r, [](Sum s) { return static_cast<To>(s); });
      }
    }
  });
}

// The matrices of one operand of a contraction.
template <typename T>
struct Matrices {
  const T* data = nullptr;
  StridedAxes stack;
  int64_t stack_step = 0;  // stride of the innermost batch label
  int64_t row_step = 0, column_step = 0;
  int64_t ld = 1;  // as in GemmProblem
  bool transposed = false;
};

template <typename T>
Matrices<T> MatricesOf(const EinsumPlan& plan, const T* data, std::string_view labels,
                       std::string_view stack, std::string_view rows, std::string_view columns) {
  Matrices<T> m{.data = data};
  for (char label : stack) {
    m.stack_step = plan.Stride(labels, {&label, 1});
    m.stack.Add(plan.extents.at(label), m.stack_step);
  }
  m.row_step = plan.Stride(labels, rows);
  m.column_step = plan.Stride(labels, columns);
  m.transposed = !columns.empty() && !labels.ends_with(columns);
  m.ld = m.transposed ? m.column_step : rows.empty() ? plan.Elements(columns) : m.row_step;
  return m;
}

// c[count, m, n] = a[count, m, k] · b[count, k, n].
template <typename T>
struct Stack {
  int64_t count = 1, last_extent = 1;  // over all batch labels, and of the innermost one
  int64_t m = 1, n = 1, k = 1;
  Matrices<T> a, b;
  T* c = nullptr;
};

template <typename T>
void MultiplyRow(const Stack<T>& s, const T* a, const T* b, T* c) {
  if (s.n > 1 && s.b.column_step == 1) {
    std::fill_n(c, s.n, T{0});
    for (int64_t k = 0; k < s.k; ++k) {
      const T factor = a[k * s.a.column_step];
      for (int64_t j = 0; j < s.n; ++j) c[j] += factor * b[k * s.b.row_step + j];
    }
    return;
  }
  for (int64_t j = 0; j < s.n; ++j) {
    T sum = 0;
    for (int64_t k = 0; k < s.k; ++k)
      sum += a[k * s.a.column_step] * b[k * s.b.row_step + j * s.b.column_step];
    c[j] = sum;
  }
}

// Computes c row by row; the rows of a are treated as one more batch axis.
template <typename T>
void LoopProducts(ThreadPool& threads, Stack<T> s) {
  s.a.stack.Add(s.m, s.a.row_step);
  s.b.stack.Add(s.m, 0);
  const int64_t extent = s.m > 1 ? s.m : s.last_extent;
  const int64_t a_step = s.m > 1 ? s.a.row_step : s.a.stack_step;
  const int64_t b_step = s.m > 1 ? 0 : s.b.stack_step;
  ForEachRun(threads, s.count * s.m, extent, s.n * s.k, [&](int64_t i, int64_t run) {
    const T *a = s.a.data + s.a.stack.OffsetOf(i), *b = s.b.data + s.b.stack.OffsetOf(i);
    for (int64_t r = 0; r < run; ++r, a += a_step, b += b_step)
      MultiplyRow(s, a, b, s.c + (i + r) * s.n);
  });
}

template <typename T>
void BlasProducts(ThreadPool& threads, const Stack<T>& s) {
  GemmStack<T>(threads, s.count, [&](int64_t i) {
    return GemmProblem<T>{.m = s.m,
                          .n = s.n,
                          .k = s.k,
                          .a = s.a.data + s.a.stack.OffsetOf(i),
                          .lda = s.a.ld,
                          .transpose_a = s.a.transposed,
                          .b = s.b.data + s.b.stack.OffsetOf(i),
                          .ldb = s.b.ld,
                          .transpose_b = s.b.transposed,
                          .c = s.c + i * s.m * s.n,
                          .ldc = s.n};
  });
}

bool IsForBlas(const EinsumPlan& plan, const EinsumContraction& c) {
  return plan.Elements(c.m + c.n + c.k) > kSmallProduct;
}

// The workspace offsets of tensors with elements of `element_bytes`, and of copies of both operands
// of the current contraction.
struct Layout {
  std::vector<int64_t> tensors;
  int64_t packed_a = 0, packed_b = 0, bytes = 0;

  Layout(const EinsumPlan& plan, int64_t element_bytes) {
    const auto take = [&](int64_t elements) {
      const int64_t offset = bytes;
      bytes += (elements * element_bytes + kAlignment - 1) / kAlignment * kAlignment;
      return offset;
    };
    if (plan.contractions.empty()) return;
    for (const std::string& labels : plan.tensors) tensors.push_back(take(plan.Elements(labels)));
    int64_t most_a = 0, most_b = 0;
    for (const EinsumContraction& c : plan.contractions) {
      if (c.packs_a) most_a = std::max(most_a, plan.Elements(plan.tensors[c.a]));
      if (c.packs_b) most_b = std::max(most_b, plan.Elements(plan.tensors[c.b]));
    }
    packed_a = take(most_a);
    packed_b = take(most_b);
  }
};

template <typename T>
class Einsum {
 public:
  using Wide = AccumulatorOf<T>;

  Einsum(const ReferenceArgs& args, const EinsumPlan& plan)
      : args_(args), plan_(plan), layout_(plan, sizeof(Wide)) {}

  void Run() const {
    T* y = static_cast<T*>(args_.out[0].data);
    if (plan_.contractions.empty()) return Prepare(0, plan_.equation.output, y);
    const size_t operands = args_.in.size();
    for (size_t i = 0; i < operands; ++i) Prepare(i, plan_.tensors[i], At(layout_.tensors[i]));
    for (size_t i = 0; i < plan_.contractions.size(); ++i)
      Contract(plan_.contractions[i], At(layout_.tensors[operands + i]));
    StridedAxes axes;
    for (char label : plan_.equation.output) {
      const int64_t extent = plan_.extents.at(label);
      if (extent != 1) axes.Add(extent, plan_.Stride(plan_.tensors.back(), {&label, 1}));
    }
    SumAxes(args_.threads, At(layout_.tensors.back()), axes, StridedAxes(), y);
  }

 private:
  Wide* At(int64_t offset) const {
    return reinterpret_cast<Wide*>(static_cast<char*>(args_.workspace) + offset);
  }

  // An operand over `labels`; all its other labels are summed.
  template <typename To>
  void Prepare(size_t i, std::string_view labels, To* to) const {
    std::string summed;
    for (char label : plan_.operands[i]) {
      if (labels.find(label) == labels.npos) summed += label;
    }
    SumAxes(args_.threads, static_cast<const T*>(args_.in[i].data),
            AxesOf(plan_, i, args_.in[i].dims, labels), AxesOf(plan_, i, args_.in[i].dims, summed),
            to);
  }

  Matrices<Wide> Side(int tensor, const std::string& stack, const std::string& rows,
                      const std::string& columns, bool packs, int64_t packed) const {
    const std::string& labels = plan_.tensors[tensor];
    const Wide* data = At(layout_.tensors[tensor]);
    if (!packs) return MatricesOf(plan_, data, labels, stack, rows, columns);
    const std::string order = stack + rows + columns;
    std::vector<CopyAxis> axes;
    for (char label : order)
      axes.push_back({plan_.extents.at(label), plan_.Stride(labels, {&label, 1}),
                      plan_.Stride(order, {&label, 1})});
    StridedCopy(data, At(packed), sizeof(Wide), std::move(axes), args_.threads);
    return MatricesOf<Wide>(plan_, At(packed), order, stack, rows, columns);
  }

  void Contract(const EinsumContraction& c, Wide* to) const {
    const Stack<Wide> stack = {
        .count = plan_.Elements(c.batch),
        .last_extent = c.batch.empty() ? 1 : plan_.extents.at(c.batch.back()),
        .m = plan_.Elements(c.m),
        .n = plan_.Elements(c.n),
        .k = plan_.Elements(c.k),
        .a = Side(c.a, c.batch, c.m, c.k, c.packs_a, layout_.packed_a),
        .b = Side(c.b, c.batch, c.k, c.n, c.packs_b, layout_.packed_b),
        .c = to};
    if constexpr (std::is_floating_point_v<Wide>) {
      const bool counts = CheckExtents(stack.m, stack.n, stack.k).ok() &&
                          CheckExtents(stack.a.ld, stack.b.ld, 1).ok();
      if (counts && IsForBlas(plan_, c)) return BlasProducts(args_.threads, stack);
    }
    LoopProducts(args_.threads, stack);
  }

  const ReferenceArgs& args_;
  const EinsumPlan& plan_;
  const Layout layout_;
};

absl::Status ReferenceEinsum(const ReferenceArgs& args) {
  std::vector<Dims> dims;
  for (const TensorRef& in : args.in) dims.emplace_back(in.dims.begin(), in.dims.end());
  ASSIGN_OR_RETURN(const EinsumPlan plan, PlanOf(args.node, dims));
  Dims output;
  for (char label : plan.equation.output) output.push_back(plan.extents.at(label));
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, output));
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    Einsum<decltype(type)>(args, plan).Run();
    return absl::OkStatus();
  });
}

Support CheckEinsum(const Node& node) {
  std::vector<size_t> ranks;
  for (const Value* v : node.inputs()) {
    if (v == nullptr) return Support::No("an operand is absent");
    ranks.push_back(v->rank());
  }
  const absl::StatusOr<EinsumEquation> equation =
      EinsumEquationOf(node.attrs().String("equation", ""), ranks);
  if (!equation.ok()) return Support::No(std::string(equation.status().message()));
  return CheckSameDType(node, static_cast<int>(ranks.size()));
}

int64_t WideBytes(const Node& node) {
  const DType dtype = node.input(0).dtype();
  return kFloatTypes.Has(dtype) || BitsOf(dtype) == 64 ? 8 : 4;  // the size of AccumulatorOf
}

int64_t EinsumWorkspace(const Node& node) {
  const absl::StatusOr<EinsumPlan> plan = StaticPlanOf(node);
  return WidenedBytes(node) + (plan.ok() ? Layout(*plan, WideBytes(node)).bytes : 0);
}

// Sums of single operands are plain loops; if an operand has a diagonal, only that is read.
Cost EinsumCost(const Node& node) {
  const absl::StatusOr<EinsumPlan> plan = StaticPlanOf(node);
  if (!plan.ok()) return {.bytes = IoBytes(node)};
  const DType dtype = node.input(0).dtype();
  Cost cost = {.bytes = node.output(0).bytes()};
  for (size_t i = 0; i < plan->operands.size(); ++i) {
    const int64_t elements = plan->Elements(plan->operands[i]);
    cost.bytes += BytesOf(dtype, elements);
    if (plan->operands[i].size() != plan->tensors[i].size()) cost.flops += elements;
  }
  if (plan->contractions.empty()) return cost;
  int64_t moved = plan->Elements(plan->tensors.back());
  for (const std::string& labels : plan->tensors) moved += plan->Elements(labels);
  for (const EinsumContraction& c : plan->contractions) {
    moved += (c.packs_a ? 3 : 1) * plan->Elements(plan->tensors[c.a]) +
             (c.packs_b ? 3 : 1) * plan->Elements(plan->tensors[c.b]);
    const int64_t flops = (c.k.empty() ? 1 : 2) * plan->Elements(c.result() + c.k);
    cost.flops += flops;
    if (kFloatTypes.Has(dtype) && IsForBlas(*plan, c)) cost.blas_flops += flops;
  }
  cost.bytes += moved * WideBytes(node);
  return cost;
}

}  // namespace

OpDef EinsumOp() {
  return {.types = kNumberTypes,
          .check = CheckEinsum,
          .reference = Widened<ReferenceEinsum>,
          .workspace = EinsumWorkspace,
          .cost = EinsumCost};
}

}  // namespace onnx_cudnn
