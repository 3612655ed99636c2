#include "runtime/cudnn/cuda/tensor_view.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr int kImageDims = 4;  // cuDNN's minimum

std::vector<int> RowMajorOrder(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> ChannelsLastOrder(size_t rank) {
  std::vector<int> order = RowMajorOrder(rank);
  if (rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<std::vector<int>> OneEach(size_t rank) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < static_cast<int>(rank); ++i) groups.push_back({i});
  return groups;
}

// The dims [begin, end) as one group.
std::vector<int> Range(int begin, int end) {
  std::vector<int> dims(std::max(0, end - begin));
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

// Orders `groups` (outer to inner) as N, spatial dims and C: cuDNN's engines for element-wise
// graphs and reductions support dense NHWC only, and do not depend on the meaning of a dim.
std::vector<std::vector<int>> InnermostAsChannels(std::vector<std::vector<int>> groups) {
  if (groups.size() < 2) groups.insert(groups.begin(), 2 - groups.size(), std::vector<int>());
  std::rotate(groups.begin() + 1, groups.end() - 1, groups.end());
  groups.resize(std::max<size_t>(groups.size(), kImageDims));
  return groups;
}

// Extents and strides in elements, by dim of the tensor.
struct Lanes {
  Dims extents, pitches;
};

absl::StatusOr<Lanes> LanesOf(const CudnnTensorView& view, size_t rank, const Format& format) {
  const int missing = static_cast<int>(view.dims.size() - rank);
  Lanes lanes = {Dims(view.dims.size(), 1), Dims(view.dims.size(), 1)};
  auto at = view.order.begin();
  for (const Format::Axis& axis : format.axes()) {
    at = std::find(at, view.order.end(), axis.dim + missing);
    if (axis.block != 1 || at == view.order.end()) {
      return absl::UnimplementedError(absl::StrCat("an operand lies as ", format.ToString(),
                                                   ", not in the order of its graph"));
    }
    lanes.extents[*at] = axis.extent;
    lanes.pitches[*at] = axis.pitch;
    ++at;
  }
  return lanes;
}

Dims StridesOf(const CudnnTensorView& view, const Dims& pitches) {
  Dims strides(view.dims.size(), 1);
  int64_t stride = 1;
  for (auto dim = view.order.rbegin(); dim != view.order.rend(); ++dim) {
    strides[*dim] = stride;
    stride *= pitches[*dim];
  }
  return strides;
}

// Joins the dims of every group. The stride of a group is that of its innermost dim; an empty group
// gets the stride that extent 1 has in a dense NHWC tensor.
absl::StatusOr<TensorLayout> Grouped(const CudnnTensorView& view, const Lanes& lanes) {
  const Dims strides = StridesOf(view, lanes.pitches);
  const auto span_of = [&](const std::vector<int>& group) {
    int64_t span = 1;
    for (const int dim : group) span = std::max(span, strides[dim] * lanes.pitches[dim]);
    return span;
  };
  TensorLayout layout;
  for (size_t i = 0; i < view.groups.size(); ++i) {
    const std::vector<int>& group = view.groups[i];
    int64_t extent = 1, whole = 1;
    for (const int dim : group) extent *= lanes.extents[dim], whole *= view.dims[dim];
    if (group.size() > 1 && extent != 1 && extent != whole) {
      return absl::UnimplementedError("an operand broadcasts over a part of the batch only");
    }
    int64_t stride = group.empty() ? span_of(view.groups[1]) : strides[group.back()];
    for (size_t inner = i + 1; group.empty() && inner < view.groups.size(); ++inner) {
      stride = std::max(stride, span_of(view.groups[inner]));
    }
    layout.dims.push_back(extent);
    layout.strides.push_back(stride);
  }
  return layout;
}

}  // namespace

CudnnTensorView ImageView(absl::Span<const int64_t> dims, int64_t padded_channels) {
  CudnnTensorView view{.dims = Dims(dims.begin(), dims.end()),
                       .order = ChannelsLastOrder(dims.size()),
                       .groups = OneEach(dims.size())};
  if (dims.size() == 3) view.groups.insert(view.groups.begin() + 2, std::vector<int>());
  if (padded_channels == dims[1]) return view;
  view.channel_dim = 1;
  view.channels = dims[1];
  view.dims[1] = padded_channels;
  return view;
}

CudnnTensorView MatrixView(absl::Span<const int64_t> dims, bool is_transposed) {
  const int rank = static_cast<int>(dims.size());
  CudnnTensorView view{.dims = Dims(dims.begin(), dims.end()),
                       .order = RowMajorOrder(dims.size()),
                       .groups = {Range(0, rank - 2), {rank - 2}, {rank - 1}}};
  if (is_transposed) std::swap(view.groups[1], view.groups[2]);
  return view;
}

CudnnTensorView PlainView(absl::Span<const int64_t> dims, bool is_channels_last) {
  CudnnTensorView view{
      .dims = Dims(dims.begin(), dims.end()),
      .order = is_channels_last ? ChannelsLastOrder(dims.size()) : RowMajorOrder(dims.size())};
  std::vector<std::vector<int>> groups;
  for (const int dim : view.order) groups.push_back({dim});
  view.groups = InnermostAsChannels(std::move(groups));
  return view;
}

CudnnTensorView ReducedView(absl::Span<const int64_t> dims, absl::Span<const int64_t> reduced) {
  CudnnTensorView view{.dims = Dims(dims.begin(), dims.end()), .order = RowMajorOrder(dims.size())};
  std::vector<std::vector<int>> runs;
  for (int dim = 0; dim < static_cast<int>(dims.size()); ++dim) {
    const bool goes_on =
        dim > 0 && (dims[dim] == reduced[dim]) == (dims[dim - 1] == reduced[dim - 1]);
    if (!goes_on) runs.emplace_back();
    runs.back().push_back(dim);
  }
  view.groups = InnermostAsChannels(std::move(runs));
  return view;
}

CudnnTensorView NormalizedView(absl::Span<const int64_t> dims, int axis) {
  const int rank = static_cast<int>(dims.size());
  CudnnTensorView view{.dims = Dims(dims.begin(), dims.end()), .order = RowMajorOrder(dims.size())};
  view.groups = {Range(0, axis)};
  if (axis < rank - 1) view.groups.push_back(Range(axis, rank - 1));
  view.groups.push_back({rank - 1});
  view.groups.resize(kImageDims);
  return view;
}

absl::StatusOr<TensorLayout> LayoutOf(const CudnnTensorView& view, absl::Span<const int64_t> dims,
                                      const Format& format) {
  ASSIGN_OR_RETURN(const Lanes lanes, LanesOf(view, dims.size(), format));
  return Grouped(view, lanes);
}

Format FormatBeside(const CudnnTensorView& view, absl::Span<const int64_t> dims) {
  const int missing = static_cast<int>(view.dims.size() - dims.size());
  std::vector<Format::Axis> axes;
  for (const int dim : view.order) {
    if (dim < missing) continue;
    int64_t extent = dims[dim - missing];
    if (dim == view.channel_dim && extent == view.channels) extent = view.dims[dim];
    axes.push_back({dim - missing, 1, extent, extent});
  }
  return Format::Of(std::move(axes));
}

TensorLayout WholeLayout(const CudnnTensorView& view) {
  const absl::StatusOr<TensorLayout> layout = Grouped(view, {view.dims, view.dims});
  return *layout;  // nothing is broadcast
}

}  // namespace onnx_cudnn
