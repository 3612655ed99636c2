#include "runtime/kernels/cuda/reduce/non_max_suppression.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/block_counts.cuh"
#include "runtime/kernels/cuda/reduce/rank_of.cuh"
#include "runtime/kernels/cuda/reduce/sort_pairs.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = kCountThreads;  // boxes that a block takes at once
constexpr int kWords = kThreads / 32;    // a bit per box

struct SuppressionParameters {
  const float* boxes;
  const float* scores;
  const float* iou_threshold;    // nullptr: 0
  const float* score_threshold;  // nullptr: none
  uint64_t* fault;
  SmallPair* pairs;          // [rows, sorted], by score
  int* selected;             // [rows, most], boxes
  int64_t* selected_counts;  // [rows]
  int64_t* to;
  int64_t* count;
  int64_t rows;  // batches × classes
  int64_t classes, count_of_boxes, sorted, most;
  bool is_center;
};

// As in the reference: NaN is the lowest score, and what is not above the threshold does not count.
__global__ void __launch_bounds__(kThreads)
    MakeScorePairs(const __grid_constant__ SuppressionParameters p) {
  WaitForLaunchBefore();
  const int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= p.rows * p.sorted) return;
  const int64_t row = t / p.sorted, box = t % p.sorted;
  SmallPair pair = LastPair<SmallPair>();
  if (box < p.count_of_boxes) {
    const float score = p.scores[row * p.count_of_boxes + box];
    const bool counts = p.score_threshold == nullptr || score > *p.score_threshold;
    const float order = score != score ? __uint_as_float(0xff800000u) : score;  // -inf
    if (counts) {
      pair = PairOf<SmallPair>(RankOf(order, /*is_largest=*/true), static_cast<uint64_t>(box));
    }
  }
  p.pairs[t] = pair;
}

struct Corners {
  float y_min, x_min, y_max, x_max, area;
};

// std::min and std::max, also of NaN.
__device__ __forceinline__ float Lower(float a, float b) { return b < a ? b : a; }
__device__ __forceinline__ float Upper(float a, float b) { return a < b ? b : a; }
// Never joined with a product to one rounding, which the reference does not do.
__device__ __forceinline__ float Difference(float a, float b) { return __fadd_rn(a, -b); }

__device__ __forceinline__ Corners CornersOf(float y_min, float x_min, float y_max, float x_max) {
  const float area = __fmul_rn(Difference(x_max, x_min), Difference(y_max, y_min));
  return {y_min, x_min, y_max, x_max, area};
}

__device__ __forceinline__ Corners BoxAt(const SuppressionParameters& p, int64_t row, int64_t box) {
  const int64_t at = row / p.classes * p.count_of_boxes + box;
  const float4 v = reinterpret_cast<const float4*>(p.boxes)[at];
  if (!p.is_center) {
    return CornersOf(Lower(v.x, v.z), Lower(v.y, v.w), Upper(v.x, v.z), Upper(v.y, v.w));
  }
  const float half_width = v.z / 2, half_height = v.w / 2;
  return CornersOf(Difference(v.y, half_height), Difference(v.x, half_width),
                   __fadd_rn(v.y, half_height), __fadd_rn(v.x, half_width));
}

__device__ __forceinline__ bool Overlap(const Corners& selected, const Corners& box,
                                        float threshold) {
  const float width =
      Difference(Lower(box.x_max, selected.x_max), Upper(box.x_min, selected.x_min));
  const float height =
      Difference(Lower(box.y_max, selected.y_max), Upper(box.y_min, selected.y_min));
  const float common = __fmul_rn(width, height);
  const float joint = Difference(__fadd_rn(box.area, selected.area), common);
  return width > 0 && height > 0 && common > 0 && box.area > 0 && selected.area > 0 && joint > 0 &&
         __fdiv_rn(common, joint) > threshold;
}

// What the threads of a block share.
struct Group {
  Corners boxes[kThreads];
  unsigned earlier[kThreads][kWords];  // the boxes before each one that overlap it
  unsigned candidates[kWords], kept[kWords];
};

// Whether `box` overlaps one of the first `count` boxes selected for the row.
__device__ __forceinline__ bool OverlapsSelected(const SuppressionParameters& p, Group& group,
                                                 int64_t row, int64_t count, const Corners& box,
                                                 float threshold) {
  const int* selected = p.selected + row * p.most;
  bool overlaps = false;
  for (int64_t first = 0; first < count; first += kThreads) {
    const int64_t mine = first + threadIdx.x;
    if (mine < count) group.boxes[threadIdx.x] = BoxAt(p, row, selected[mine]);
    __syncthreads();
    const int here = static_cast<int>(count - first < kThreads ? count - first : kThreads);
    for (int i = 0; i < here && !overlaps; ++i) {
      overlaps = Overlap(group.boxes[i], box, threshold);
    }
    __syncthreads();
  }
  return overlaps;
}

// Decides on the candidates one after the other, in one warp: lane w has word w of those kept.
__device__ __forceinline__ void KeepInOrder(Group& group, int64_t left) {
  const int lane = static_cast<int>(threadIdx.x);
  unsigned kept = 0;
  for (int w = 0; w < kWords; ++w) {
    unsigned candidates = group.candidates[w];
    while (candidates != 0 && left > 0) {
      const int bit = __ffs(static_cast<int>(candidates)) - 1;
      candidates &= candidates - 1;
      const bool overlaps = lane < kWords && (group.earlier[w * 32 + bit][lane] & kept) != 0;
      if (__ballot_sync(~0u, overlaps ? 1 : 0) != 0) continue;
      if (lane == w) kept |= 1u << bit;
      --left;
    }
  }
  if (lane < kWords) group.kept[lane] = kept;
}

// A block selects the boxes of a row, from groups of its boxes in the order of their scores.
__global__ void __launch_bounds__(kThreads)
    SelectBoxes(const __grid_constant__ SuppressionParameters p) {
  __shared__ Group group;
  WaitForLaunchBefore();
  const int64_t row = blockIdx.x;
  const float threshold = p.iou_threshold == nullptr ? 0.0F : *p.iou_threshold;
  const int me = static_cast<int>(threadIdx.x), warp = me / 32, lane = me % 32;
  const SmallPair* pairs = p.pairs + row * p.sorted;
  int64_t count = 0;
  for (int64_t first = 0; first < p.sorted && count < p.most; first += kThreads) {
    if (IsLast(pairs[first])) break;
    const SmallPair pair = pairs[first + me];
    const int64_t index = IsLast(pair) ? 0 : static_cast<int64_t>(PlaceIn(pair));
    const Corners box = BoxAt(p, row, index);
    const bool overlaps = OverlapsSelected(p, group, row, count, box, threshold);
    const bool is_candidate = !IsLast(pair) && !overlaps;
    group.boxes[me] = box;
    const unsigned candidates = __ballot_sync(~0u, is_candidate ? 1 : 0);
    if (lane == 0) group.candidates[warp] = candidates;
    __syncthreads();
    for (int w = 0; w < kWords; ++w) {
      unsigned earlier = 0;
      for (int i = 0; is_candidate && i < 32 && w * 32 + i < me; ++i) {
        const bool counts = (group.candidates[w] >> i & 1) != 0;
        if (counts && Overlap(group.boxes[w * 32 + i], box, threshold)) earlier |= 1u << i;
      }
      group.earlier[me][w] = earlier;
    }
    __syncthreads();
    if (warp == 0) KeepInOrder(group, p.most - count);
    __syncthreads();
    int before = __popc(group.kept[warp] & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < kWords; ++w) {
      before += w < warp ? __popc(group.kept[w]) : 0;
      all += __popc(group.kept[w]);
    }
    const bool is_kept = (group.kept[warp] >> lane & 1) != 0;
    if (is_kept) p.selected[row * p.most + count + before] = static_cast<int>(index);
    count += all;
    __syncthreads();
  }
  if (me == 0) p.selected_counts[row] = count;
}

// A block writes the boxes of a row behind those of the rows before, and its share of the zeros.
__global__ void __launch_bounds__(kThreads)
    JoinRows(const __grid_constant__ SuppressionParameters p) {
  __shared__ int64_t sums[kCountWarps];
  WaitForLaunchBefore();
  const int64_t row = blockIdx.x;
  const SummedCounts found = SumCounts(p.selected_counts, p.rows, row, sums);
  if (row == 0 && threadIdx.x == 0) {
    *p.count = found.all;
    const float iou = p.iou_threshold == nullptr ? 0.0F : *p.iou_threshold;
    if (!(iou >= 0 && iou <= 1)) {
      *p.fault = FaultWord({FaultKind::kNumber, 0, static_cast<int64_t>(__float_as_uint(iou))});
    }
  }
  if (p.rows == 0) return;
  const int64_t mine = p.selected_counts[row];
  for (int64_t i = threadIdx.x; i < mine; i += kThreads) {
    int64_t* to = p.to + 3 * (found.before + i);
    to[0] = row / p.classes;
    to[1] = row % p.classes;
    to[2] = p.selected[row * p.most + i];
  }
  const int64_t used = 3 * found.all, begin = 3 * row * p.most, end = begin + 3 * p.most;
  for (int64_t i = (begin > used ? begin : used) + threadIdx.x; i < end; i += kThreads) p.to[i] = 0;
}

int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Of the parts of the workspace.
struct Places {
  Slot pairs, selected, selected_counts;
};

void BindAll(const SuppressionPlan& plan, const Places& places, KernelCall& call) {
  using P = SuppressionParameters;
  call.Bind(offsetof(P, boxes), plan.boxes);
  call.Bind(offsetof(P, scores), plan.scores);
  call.Bind(offsetof(P, to), plan.to);
  call.Bind(offsetof(P, count), plan.count);
  call.Bind(offsetof(P, fault), Slot::Fault());
  if (plan.iou_threshold) call.Bind(offsetof(P, iou_threshold), *plan.iou_threshold);
  if (plan.score_threshold) call.Bind(offsetof(P, score_threshold), *plan.score_threshold);
  call.Bind(offsetof(P, pairs), places.pairs);
  call.Bind(offsetof(P, selected), places.selected);
  call.Bind(offsetof(P, selected_counts), places.selected_counts);
}

LaunchShape ShapeOf(int64_t blocks) {
  return {.grid = {.x = static_cast<unsigned>(blocks)}, .block = {.x = kThreads}};
}

}  // namespace

SuppressionCode CodeOf(const SuppressionPlan& plan) {
  SuppressionParameters p = {};
  p.rows = plan.most == 0 ? 0 : plan.batches * plan.classes;
  p.classes = plan.classes;
  p.count_of_boxes = plan.count_of_boxes;
  p.sorted = SortedCount(plan.count_of_boxes);
  p.most = plan.most;
  p.is_center = plan.is_center;
  const int64_t pairs_bytes = Aligned(p.rows * p.sorted * static_cast<int64_t>(sizeof(SmallPair)));
  const int64_t selected_bytes = Aligned(p.rows * p.most * static_cast<int64_t>(sizeof(int)));
  const Places places = {.pairs = Slot::Workspace(),
                         .selected = Slot::Workspace(pairs_bytes),
                         .selected_counts = Slot::Workspace(pairs_bytes + selected_bytes)};
  SuppressionCode code;
  code.workspace_bytes =
      pairs_bytes + selected_bytes + p.rows * static_cast<int64_t>(sizeof(int64_t));
  const auto add = [&](void (*kernel)(SuppressionParameters), int64_t blocks) {
    KernelCall call = KernelCall::Of(kernel, ShapeOf(blocks), p);
    BindAll(plan, places, call);
    code.calls.push_back(std::move(call));
  };
  if (p.rows > 0) {
    add(MakeScorePairs, (p.rows * p.sorted + kThreads - 1) / kThreads);
    for (KernelCall& call : SortPairsCalls(places.pairs, /*are_wide=*/false, p.rows, p.sorted)) {
      code.calls.push_back(std::move(call));
    }
    add(SelectBoxes, p.rows);
  }
  add(JoinRows, std::max<int64_t>(1, p.rows));
  return code;
}

}  // namespace onnx_cudnn
