#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/ops/data_dependent.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

struct CornerBox {
  float y_min, x_min, y_max, x_max, area;
};

CornerBox Cornered(float y_min, float x_min, float y_max, float x_max) {
  return {y_min, x_min, y_max, x_max, (x_max - x_min) * (y_max - y_min)};
}

// Four numbers of the input: y1, x1, y2, x2 of any two opposite corners, or the x and y of the
// center, width and height.
CornerBox BoxOf(const float* v, bool is_center) {
  if (!is_center) {
    return Cornered(std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]),
                    std::max(v[1], v[3]));
  }
  const float half_width = v[2] / 2, half_height = v[3] / 2;
  return Cornered(v[1] - half_height, v[0] - half_width, v[1] + half_height, v[0] + half_width);
}

// The boxes that were selected, in blocks over which the compiler vectorizes. The unused places of
// the last block are boxes without area, which overlap nothing.
class SelectedBoxes {
 public:
  void Add(const CornerBox& box) {
    const int64_t at = count_++ % kLanes;
    if (at == 0) blocks_.emplace_back();
    Block& block = blocks_.back();
    block.y_min[at] = box.y_min;
    block.x_min[at] = box.x_min;
    block.y_max[at] = box.y_max;
    block.x_max[at] = box.x_max;
    block.area[at] = box.area;
  }

  // Whether the intersection of `box` with one of them, divided by their union, is above
  // `threshold`. In f32, so that the border case is decided as in onnxruntime.
  bool Overlap(const CornerBox& box, float threshold) const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [&](const Block& block) { return Overlaps(block, box, threshold); });
  }

 private:
  static constexpr int kLanes = 16;
  struct Block {
    float y_min[kLanes] = {}, x_min[kLanes] = {}, y_max[kLanes] = {}, x_max[kLanes] = {},
          area[kLanes] = {};
  };

  static bool Overlaps(const Block& block, const CornerBox& box, float threshold) {
    int overlaps = 0;
    for (int i = 0; i < kLanes; ++i) {
      const float width = std::min(box.x_max, block.x_max[i]) - std::max(box.x_min, block.x_min[i]);
      const float height =
          std::min(box.y_max, block.y_max[i]) - std::max(box.y_min, block.y_min[i]);
      const float common = width * height;
      const float joint = box.area + block.area[i] - common;
      overlaps |= (width > 0) & (height > 0) & (common > 0) & (box.area > 0) & (block.area[i] > 0) &
                  (joint > 0) & (common / joint > threshold);
    }
    return overlaps != 0;
  }

  std::vector<Block> blocks_;
  int64_t count_ = 0;
};

struct Selection {
  int64_t most = 0;  // boxes per batch and class
  float iou_threshold = 0;
  std::optional<float> score_threshold;
};

// The order in which a heap gives boxes: the best score first, lower indices first among equals.
struct ScoredBox {
  float score;
  int64_t index;
  bool operator<(const ScoredBox& other) const {
    return score != other.score ? score < other.score : index > other.index;
  }
};

// The indices of the boxes of one class that are selected, best first.
std::vector<int64_t> Select(absl::Span<const CornerBox> boxes, const float* scores,
                            const Selection& selection) {
  std::vector<ScoredBox> candidates;
  for (int64_t i = 0; i < std::ssize(boxes); ++i) {
    if (selection.score_threshold.has_value() && !(scores[i] > *selection.score_threshold))
      continue;
    const float lowest = -std::numeric_limits<float>::infinity();
    candidates.push_back({std::isnan(scores[i]) ? lowest : scores[i], i});
  }
  std::make_heap(candidates.begin(), candidates.end());
  std::vector<int64_t> selected;
  SelectedBoxes selected_boxes;
  while (!candidates.empty() && std::ssize(selected) < selection.most) {
    std::pop_heap(candidates.begin(), candidates.end());
    const int64_t index = candidates.back().index;
    candidates.pop_back();
    if (selected_boxes.Overlap(boxes[index], selection.iou_threshold)) continue;
    selected_boxes.Add(boxes[index]);
    selected.push_back(index);
  }
  return selected;
}

// The only element of an optional input; nullopt if it is absent.
template <typename T>
absl::StatusOr<std::optional<T>> OnlyElement(absl::Span<const HostTensor> inputs, size_t input,
                                             std::string_view what) {
  if (input >= inputs.size() || !inputs[input].defined()) return std::nullopt;
  const HostTensor& tensor = inputs[input];
  if (tensor.elements() == 1) return tensor.data<T>()[0];
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is ", ToString(absl::MakeConstSpan(tensor.dims())), ", expected one element"));
}

absl::StatusOr<Selection> SelectionOf(absl::Span<const HostTensor> inputs) {
  ASSIGN_OR_RETURN(const auto most, OnlyElement<int64_t>(inputs, 2, "max_output_boxes_per_class"));
  ASSIGN_OR_RETURN(const auto iou, OnlyElement<float>(inputs, 3, "iou_threshold"));
  ASSIGN_OR_RETURN(const auto score, OnlyElement<float>(inputs, 4, "score_threshold"));
  if (iou.has_value() && !(*iou >= 0 && *iou <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("iou_threshold is ", *iou, ", expected 0 to 1"));
  }
  return Selection{most.value_or(0), iou.value_or(0), score};
}

absl::Status CheckDims(const Dims& boxes, const Dims& scores) {
  if (boxes.size() == 3 && scores.size() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
      boxes[1] == scores[2]) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("boxes are ", ToString(absl::MakeConstSpan(boxes)), " and scores ",
                   ToString(absl::MakeConstSpan(scores)),
                   ", expected [batches, boxes, 4] and [batches, classes, boxes]"));
}

// Rows of batch, class and box.
HostTensor RowsOf(const std::vector<std::vector<int64_t>>& selected, int64_t classes) {
  int64_t count = 0;
  for (const std::vector<int64_t>& indices : selected) count += std::ssize(indices);
  HostTensor rows = HostTensor::Allocate(DType::kI64, {count, 3});
  auto* row = static_cast<int64_t*>(rows.mutable_raw());
  for (int64_t i = 0; i < std::ssize(selected); ++i) {
    for (const int64_t index : selected[i]) {
      row[0] = i / classes;
      row[1] = i % classes;
      row[2] = index;
      row += 3;
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<HostTensor> ComputeNonMaxSuppression(const Node& node,
                                                    absl::Span<const HostTensor> inputs) {
  const HostTensor &boxes = inputs[0], &scores = inputs[1];
  RETURN_IF_ERROR(CheckDims(boxes.dims(), scores.dims()));
  ASSIGN_OR_RETURN(const Selection selection, SelectionOf(inputs));
  const int64_t batches = scores.dims()[0], classes = scores.dims()[1], count = scores.dims()[2];
  const bool is_center = node.attrs().Int("center_point_box", 0) != 0;
  std::vector<CornerBox> corners;
  corners.reserve(batches * count);
  for (int64_t i = 0; i < batches * count; ++i) {
    corners.push_back(BoxOf(boxes.data<float>().data() + 4 * i, is_center));
  }
  std::vector<std::vector<int64_t>> selected(batches * classes);
  ThreadPool::Default().ParallelFor(
      batches * classes, GrainFor(16 * count), [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          const auto of_batch = absl::MakeConstSpan(corners).subspan(i / classes * count, count);
          selected[i] = Select(of_batch, scores.data<float>().data() + i * count, selection);
        }
      });
  return RowsOf(selected, classes);
}

std::optional<int64_t> BoundOfNonMaxSuppression(const Node& node) {
  if (!CheckDims(node.input(0).dims(), node.input(1).dims()).ok()) return std::nullopt;
  if (!node.has_input(2) || !node.input(2).is_constant()) return std::nullopt;
  std::vector<HostTensor> known(2);  // of the parameters; those that are not known pass
  for (int i = 2; i < static_cast<int>(node.inputs().size()); ++i) {
    if (node.has_input(i) && node.input(i).elements() != 1) return std::nullopt;
    const bool is_known = node.has_input(i) && node.input(i).is_constant();
    known.push_back(is_known ? node.input(i).constant() : HostTensor());
  }
  const absl::StatusOr<Selection> selection = SelectionOf(known);
  if (!selection.ok()) return std::nullopt;
  const Dims scores = node.input(1).dims();
  return 3 * scores[0] * scores[1] * std::clamp<int64_t>(selection->most, 0, scores[2]);
}

Support CheckNonMaxSuppression(const Node& node) {
  constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kI64, DType::kF32, DType::kF32};
  for (int i = 0; i < 5; ++i) {
    if (!node.has_input(i) || node.input(i).dtype() == kDTypes[i]) continue;
    return Support::No(absl::StrCat("input ", i, " is ", NameOf(node.input(i).dtype()),
                                    ", expected ", NameOf(kDTypes[i])));
  }
  const int64_t form = node.attrs().Int("center_point_box", 0);
  if (form == 0 || form == 1) return Support::Yes();
  return Support::No(absl::StrCat("center_point_box is ", form, ", expected 0 or 1"));
}

OpDef NonMaxSuppressionOp() {
  return {.types = {DType::kF32},
          .check = CheckNonMaxSuppression,
          .evaluate = EvaluateDataDependent<ComputeNonMaxSuppression>};
}

}  // namespace onnx_cudnn
