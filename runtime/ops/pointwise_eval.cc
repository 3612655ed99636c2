// Evaluates an expression block by block and Term by Term, so that every primitive is a loop over
// numbers in L1.
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/ops/elements.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/pointwise_kernels.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 1024;          // elements
constexpr int64_t kGrain = 8 * kBlock;    // minimum work per thread, for a single Term
constexpr int64_t kCostlyTermWeight = 8;  // exp, tanh … relative to an addition

template <typename T>
constexpr DType kDTypeOf = std::is_same_v<T, float>     ? DType::kF32
                           : std::is_same_v<T, double>  ? DType::kF64
                           : std::is_same_v<T, int64_t> ? DType::kI64
                                                        : DType::kU64;

// The position of an input's elements relative to the flat index of the output. Adjacent output
// axes are merged if the input treats them alike.
struct Walk {
  std::vector<int64_t> extents, strides;  // outer to inner; a stride of 0 repeats the element

  bool contiguous() const { return extents.empty() || (extents.size() == 1 && strides[0] == 1); }
  bool uniform() const { return extents.size() == 1 && strides[0] == 0; }
};

Walk WalkOf(absl::Span<const int64_t> in, absl::Span<const int64_t> out) {
  Walk walk;
  int64_t stride = 1;
  for (size_t back = 1; back <= out.size(); ++back) {
    const int64_t extent = out[out.size() - back];
    const int64_t own = back <= in.size() ? in[in.size() - back] : 1;
    if (extent == 1) continue;
    const int64_t step = own == 1 ? 0 : stride;
    stride *= own;
    const bool merges = !walk.extents.empty() && (step == 0) == (walk.strides.back() == 0);
    if (merges) {
      walk.extents.back() *= extent;
    } else {
      walk.extents.push_back(extent);
      walk.strides.push_back(step);
    }
  }
  std::reverse(walk.extents.begin(), walk.extents.end());
  std::reverse(walk.strides.begin(), walk.strides.end());
  return walk;
}

// to[i] = the element of the input at flat output index begin + i.
template <typename T, typename E>
void LoadBroadcast(const E* from, const Walk& walk, int64_t begin, T* to, int64_t n) {
  const int axes = static_cast<int>(walk.extents.size());
  absl::Span<const int64_t> extents = walk.extents, strides = walk.strides;
  std::vector<int64_t> at(axes);
  int64_t offset = 0;
  for (int a = axes - 1; a >= 0; begin /= extents[a--]) {
    at[a] = begin % extents[a];
    offset += at[a] * strides[a];
  }
  while (true) {
    const int inner = axes - 1;
    const int64_t run = std::min(n, extents[inner] - at[inner]);
    if (strides[inner] == 0) {
      std::fill_n(to, run, Widen<T>(from[offset]));
    } else {
      for (int64_t i = 0; i < run; ++i) to[i] = Widen<T>(from[offset + i]);
    }
    to += run;
    n -= run;
    if (n == 0) return;
    offset -= at[inner] * strides[inner];
    at[inner] = 0;
    for (int a = inner - 1; a >= 0; --a) {
      offset += strides[a];
      if (++at[a] < extents[a]) break;
      offset -= extents[a] * strides[a];
      at[a] = 0;
    }
  }
}

template <typename T>
void Load(const TensorRef& in, const Walk& walk, int64_t begin, T* to, int64_t n) {
  VisitElementType(in.dtype, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(in.data);
    if (!walk.contiguous()) return LoadBroadcast(from, walk, begin, to, n);
    for (int64_t i = 0; i < n; ++i) to[i] = Widen<T>(from[begin + i]);
  });
}

template <typename T>
void Store(const T* from, const MutableTensorRef& out, int64_t begin, int64_t n) {
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    E* to = static_cast<E*>(out.data) + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = Narrow<E>(from[i]);
  });
}

template <typename T>
class Evaluator {
 public:
  Evaluator(const Expression& bound, absl::Span<const TensorRef> in, const MutableTensorRef& out)
      : terms_(bound.terms()), in_(in), out_(out) {
    for (const Term& term : terms_) {
      const bool input = term.primitive == Primitive::kInput;
      walks_.push_back(input ? WalkOf(in[term.input].dims, out.dims) : Walk{});
    }
    AssignSlots();
  }

  // Computes elements [begin, end) of the output.
  void Run(int64_t begin, int64_t end) const {
    std::vector<T> scratch(slot_count_ * kBlock);
    const auto slot = [&](size_t t) { return scratch.data() + slots_[t] * kBlock; };
    for (size_t t = 0; t < terms_.size(); ++t) {
      if (IsUniform(t)) std::fill_n(slot(t), std::min(kBlock, end - begin), UniformValue(t));
    }
    std::vector<const T*> results(terms_.size());
    for (; begin < end; begin += kBlock) {
      const int64_t n = std::min(kBlock, end - begin);
      for (size_t t = 0; t < terms_.size(); ++t)
        results[t] = RunTerm(t, results, slot(t), begin, n);
      if (results.back() != WrittenInPlace(begin)) Store(results.back(), out_, begin, n);
    }
  }

 private:
  bool IsInput(size_t t) const { return terms_[t].primitive == Primitive::kInput; }
  bool IsDirect(size_t t) const {
    return IsInput(t) && !IsUniform(t) && walks_[t].contiguous() &&
           in_[terms_[t].input].dtype == kDTypeOf<T>;
  }
  bool IsUniform(size_t t) const {
    return terms_[t].primitive == Primitive::kConstant || (IsInput(t) && walks_[t].uniform());
  }

  T UniformValue(size_t t) const {
    T value;
    if (IsInput(t)) {
      Load(in_[terms_[t].input], Walk{}, 0, &value, 1);
    } else {
      value = Widen<T>(terms_[t].value);
    }
    return value;
  }

  // The destination of the last Term if its numbers can be stored directly as output elements.
  T* WrittenInPlace(int64_t begin) const {
    if (out_.dtype != kDTypeOf<T> || ArityOf(terms_.back().primitive) == 0) return nullptr;
    return static_cast<T*>(out_.data) + begin;
  }

  const T* RunTerm(size_t t, const std::vector<const T*>& results, T* slot, int64_t begin,
                   int64_t n) const {
    if (IsUniform(t)) return slot;
    const Term& term = terms_[t];
    if (IsDirect(t)) return static_cast<const T*>(in_[term.input].data) + begin;
    if (IsInput(t)) {
      Load(in_[term.input], walks_[t], begin, slot, n);
      return slot;
    }
    std::array<const T*, 3> args = {};
    for (int i = 0; i < ArityOf(term.primitive); ++i) args[i] = results[term.args[i]];
    T* in_place = t + 1 == terms_.size() ? WrittenInPlace(begin) : nullptr;
    T* to = in_place == nullptr ? slot : in_place;
    RunPrimitive(term.primitive, args, to, n);
    return to;
  }

  // A slot is free again after the last Term that reads it; a uniform Term keeps its slot for all
  // blocks.
  void AssignSlots() {
    std::vector<size_t> last_use(terms_.size());
    for (size_t t = 0; t < terms_.size(); ++t) {
      for (int i = 0; i < ArityOf(terms_[t].primitive); ++i) last_use[terms_[t].args[i]] = t;
    }
    std::vector<int> free;
    for (size_t t = 0; t < terms_.size(); ++t) {
      for (size_t arg = 0; arg < t; ++arg) {
        if (last_use[arg] == t && !IsUniform(arg) && !IsDirect(arg)) free.push_back(slots_[arg]);
      }
      if (free.empty() || IsUniform(t)) {
        slots_.push_back(slot_count_++);
      } else {
        slots_.push_back(free.back());
        free.pop_back();
      }
    }
  }

  const std::vector<Term>& terms_;
  absl::Span<const TensorRef> in_;
  MutableTensorRef out_;
  std::vector<Walk> walks_;  // parallel to terms_
  std::vector<int> slots_;   // parallel to terms_: index of a block in the scratch memory
  int slot_count_ = 0;
};

int64_t GrainOf(const Expression& bound) {
  int64_t weight = 1;
  for (const Term& term : bound.terms()) {
    const bool is_costly = TraitsOf(term.primitive).cost >= PrimitiveCost::kVectorized;
    weight += is_costly ? kCostlyTermWeight : 1;
  }
  return std::max(kBlock, kGrain * 2 / weight / kBlock * kBlock);
}

}  // namespace

void EvaluatePointwise(const Expression& bound, absl::Span<const TensorRef> in,
                       const MutableTensorRef& out, ThreadPool& threads) {
  std::vector<DType> dtypes;
  for (const TensorRef& t : in) dtypes.push_back(t.dtype);
  const auto run = [&](auto number) {
    const Evaluator<decltype(number)> evaluator(bound, in, out);
    threads.ParallelFor(out.elements(), GrainOf(bound),
                        [&](int64_t begin, int64_t end) { evaluator.Run(begin, end); });
  };
  switch (ComputeTypeOf(bound, dtypes)) {
    case DType::kF64:
      return run(double{});
    case DType::kI64:
      return run(int64_t{});
    case DType::kU64:
      return run(uint64_t{});
    default:
      return run(float{});
  }
}

}  // namespace onnx_cudnn
