#include <algorithm>
#include <type_traits>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/reducers.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/strided_axes.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 128;  // adjacent outputs computed together
constexpr int64_t kLanes = 8;    // partial results per run of inputs

// The reduced axes: those of the input, all, or none.
class ReducedAxes {
 public:
  static absl::StatusOr<ReducedAxes> Of(const ReferenceArgs& args) {
    ReducedAxes axes(args.in[0].dims.size());
    const bool listed = args.has_in(1) && args.in[1].elements() > 0;
    if (!listed) {
      if (args.node.attrs().Int("noop_with_empty_axes", 0) == 0)
        axes.reduced_.assign(axes.reduced_.size(), 1);
      return axes;
    }
    for (int64_t axis : args.in[1].as<int64_t>()) {
      const int64_t rank = static_cast<int64_t>(axes.reduced_.size());
      if (axis < -rank || axis >= rank) {
        return absl::InvalidArgumentError(
            absl::StrFormat("axis %d is outside rank %d", axis, rank));
      }
      axes.reduced_[NormalizedAxis(axis, rank)] = 1;
    }
    return axes;
  }

  absl::Span<const uint8_t> flags() const { return reduced_; }
  Dims OutputOf(absl::Span<const int64_t> dims, bool keep) const {
    Dims out;
    for (size_t i = 0; i < reduced_.size(); ++i) {
      if (reduced_[i] == 0) out.push_back(dims[i]);
      if (reduced_[i] != 0 && keep) out.push_back(1);
    }
    return out;
  }

 private:
  explicit ReducedAxes(size_t rank) : reduced_(rank, 0) {}
  std::vector<uint8_t> reduced_;  // 1 for a reduced axis
};

// The reduction in terms of memory: outputs (o, j) for o < outer.count(), j < inner; each reduces
// the inputs at outer.OffsetOf(o) + j + reduced.OffsetOf(r) + i for r < reduced.count(), i < run.
// inner or run is 1.
struct ReductionLoops {
  StridedAxes outer, reduced;
  int64_t inner, run;
  int64_t count() const { return reduced.count() * run; }
};

ReductionLoops LoopsOf(absl::Span<const int64_t> dims, const ReducedAxes& axes) {
  AxisSplit split = SplitAxes(dims, axes.flags());
  ReductionLoops loops;
  loops.inner = split.kept.TakeRun();
  loops.run = split.reduced.TakeRun();
  loops.outer = split.kept;
  loops.reduced = split.reduced;
  return loops;
}

template <typename R, typename T>
T ReduceRuns(const ReductionLoops& loops, const T* x) {
  typename R::State lanes[kLanes];
  std::fill_n(lanes, kLanes, R::Start());
  const int64_t reduced = loops.reduced.count(), whole = loops.run / kLanes * kLanes;
  for (int64_t r = 0; r < reduced; ++r) {
    const T* from = x + loops.reduced.OffsetOf(r);
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = R::Add(lanes[lane], from[i + lane]);
    }
    for (int64_t i = whole; i < loops.run; ++i)
      lanes[i - whole] = R::Add(lanes[i - whole], from[i]);
  }
  for (int64_t lane = 1; lane < kLanes; ++lane) lanes[0] = R::Merge(lanes[0], lanes[lane]);
  return R::Finish(lanes[0], loops.count());
}

template <typename R, typename T>
void ReduceBlock(const ReductionLoops& loops, const T* x, int64_t width, T* y) {
  typename R::State states[kBlock];
  std::fill_n(states, width, R::Start());
  const int64_t reduced = loops.reduced.count();
  for (int64_t r = 0; r < reduced; ++r) {
    const T* from = x + loops.reduced.OffsetOf(r);
    for (int64_t j = 0; j < width; ++j) states[j] = R::Add(states[j], from[j]);
  }
  for (int64_t j = 0; j < width; ++j) y[j] = R::Finish(states[j], loops.count());
}

template <typename R, typename T>
void ReduceAll(const ReferenceArgs& args, const ReductionLoops& loops) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  if (loops.inner == 1) {
    args.threads.ParallelFor(loops.outer.count(), GrainFor(loops.count()),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t o = begin; o < end; ++o)
                                 y[o] = ReduceRuns<R>(loops, x + loops.outer.OffsetOf(o));
                             });
    return;
  }
  const int64_t blocks = (loops.inner + kBlock - 1) / kBlock;
  args.threads.ParallelFor(loops.outer.count() * blocks, GrainFor(loops.count() * kBlock),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t b = begin; b < end; ++b) {
                               const int64_t o = b / blocks, first = b % blocks * kBlock;
                               ReduceBlock<R>(loops, x + loops.outer.OffsetOf(o) + first,
                                              std::min(kBlock, loops.inner - first),
                                              y + o * loops.inner + first);
                             }
                           });
}

// Normalizes bytes written by the reducers to bools: any byte but 0 is true.
void ToBools(const MutableTensorRef& y) {
  for (uint8_t& byte : y.as<uint8_t>()) byte = byte != 0 ? 1 : 0;
}

template <template <typename> typename Reducer>
absl::Status ReferenceReduce(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const ReducedAxes axes, ReducedAxes::Of(args));
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const bool keep = args.node.attrs().Int("keepdims", 1) != 0;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, axes.OutputOf(dims, keep)));
  if (args.out[0].elements() == 0) return absl::OkStatus();
  const ReductionLoops loops = LoopsOf(dims, axes);
  const bool is_bool = args.in[0].dtype == DType::kBool;
  RETURN_IF_ERROR(
      DispatchNumber(is_bool ? DType::kU8 : args.in[0].dtype, [&](auto type) -> absl::Status {
        using T = decltype(type);
        if (std::is_same_v<Reducer<T>, MeanReducer<T>> && std::is_integral_v<T> &&
            loops.count() == 0) {
          return absl::InvalidArgumentError("the mean of no integers");
        }
        ReduceAll<Reducer<T>, T>(args, loops);
        return absl::OkStatus();
      }));
  if (is_bool) ToBools(args.out[0]);
  return absl::OkStatus();
}

Support CheckReduce(const Node& node) {
  if (!node.has_input(1) || node.input(1).dtype() == DType::kI64) return Support::Yes();
  return Support::No(absl::StrFormat("axes are %s, expected i64", NameOf(node.input(1).dtype())));
}

Cost ReduceCost(const Node& node) {
  const int64_t elements = node.input(0).elements();
  const bool has_exp = node.op() == "ReduceLogSumExp";
  return {.us = ScalarUs(has_exp ? elements : 0), .flops = elements, .bytes = IoBytes(node)};
}

constexpr DTypeSet kWideNumbers =
    kFloatTypes | DTypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};
constexpr DTypeSet kComparable = kWideNumbers | DTypeSet{DType::kI8, DType::kU8, DType::kBool};

constexpr OpTraits kReduces = {.anchor = true}, kInF32 = {.computes_in_f32 = true, .anchor = true};

template <template <typename> typename Reducer>
OpDef Reduction(DTypeSet types, OpTraits traits = kReduces) {
  return WidenedOp<ReferenceReduce<Reducer>>(
      {.types = types, .check = CheckReduce, .cost = ReduceCost, .traits = traits});
}

}  // namespace

OpDef ReduceSumOp() { return Reduction<SumReducer>(kWideNumbers); }
OpDef ReduceMeanOp() { return Reduction<MeanReducer>(kWideNumbers, kInF32); }
OpDef ReduceMaxOp() { return Reduction<MaxReducer>(kComparable, kInF32); }
OpDef ReduceMinOp() { return Reduction<MinReducer>(kComparable, kInF32); }
OpDef ReduceProdOp() { return Reduction<ProductReducer>(kWideNumbers); }
OpDef ReduceL1Op() { return Reduction<L1Reducer>(kWideNumbers); }
OpDef ReduceL2Op() { return Reduction<L2Reducer>(kWideNumbers); }
OpDef ReduceSumSquareOp() { return Reduction<SumSquareReducer>(kWideNumbers); }
OpDef ReduceLogSumOp() { return Reduction<LogSumReducer>(kFloatTypes); }
OpDef ReduceLogSumExpOp() { return Reduction<LogSumExpReducer>(kFloatTypes); }

}  // namespace onnx_cudnn
