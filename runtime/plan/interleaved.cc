#include "runtime/plan/interleaved.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr int kChannels = 1;   // the dim
constexpr int kLeastRank = 4;  // of an image

bool IsConcat(const Node& node) { return node.domain().empty() && node.op() == "Concat"; }

// Whether the Engine `view` may run `node`, so that nothing writes its output.
bool MayBeView(const Node& node) { return TraitsOf(node).keeps_bytes || IsViewNode(node); }

Support CheckWhole(const Node& concat) {
  const Value& out = concat.output(0);
  if (!out.is_static() || BitsOf(out.dtype()) < 8 || out.elements() == 0) {
    return Support::No(absl::StrCat("its output is ", ToString(out.type())));
  }
  if (out.is_graph_output()) return Support::No("its output is a graph output");
  if (out.uses().empty()) return Support::No("its output is not used");
  const int64_t axis = NormalizedAxis(concat.attrs().Int("axis", 0), out.rank());
  if (out.rank() < kLeastRank || axis != kChannels) {
    return Support::No("it does not join channels of images");
  }
  const int64_t pitch = BytesOf(out.dtype(), out.dim(kChannels));
  if (pitch % kPartAlignment == 0) return Support::Yes();
  return Support::No(
      absl::StrCat("its pixels have ", pitch, " bytes, no multiple of ", kPartAlignment));
}

// The Concat whose output `value` lies in; nullptr: none.
const Node* ConcatAround(const Value& value) {
  const Node* first = nullptr;
  for (const Use& use : value.uses()) {
    const bool is_earlier = first == nullptr || use.node->id() < first->id();
    if (IsConcat(*use.node) && is_earlier) first = use.node;
  }
  return first != nullptr && CheckInterleaves(*first) ? first : nullptr;
}

}  // namespace

Support CheckJoined(const Value& value, const Node& concat) {
  const auto no = [&](std::string_view why) {
    return Support::No(absl::StrCat("input ", value.name(), " ", why));
  };
  if (value.producer() == nullptr) return no("is not the output of a node");
  if (value.is_graph_output()) return no("is a graph output");
  int times = 0;
  for (const Use& use : value.uses()) {
    if (use.node == &concat) ++times;
    if (IsConcat(*use.node) && use.node->id() < concat.id()) return no("lies in another Concat");
  }
  return times == 1 ? Support::Yes() : no("is in it twice");
}

Support CheckInterleaves(const Node& concat) {
  if (!IsConcat(concat)) return Support::No("it is no Concat");
  if (Support s = CheckWhole(concat); !s) return s;
  int64_t channel = 0;
  for (const Value* v : concat.inputs()) {
    if (v == nullptr || !v->is_static()) return Support::No("an input is absent or not static");
    if (Support s = CheckJoined(*v, concat); !s) return s;
    if (MayBeView(*v->producer())) {
      return Support::No(absl::StrCat("input ", v->name(), " shows the bytes of another value"));
    }
    const int64_t begin = BytesOf(v->dtype(), channel);
    if (begin % kPartAlignment != 0) {
      return Support::No(absl::StrCat("input ", v->name(), " would begin at byte ", begin,
                                      " of a pixel, no multiple of ", kPartAlignment));
    }
    channel += v->dim(kChannels);
  }
  return Support::Yes();
}

std::optional<Format> InterleavedFormat(const Value& value) {
  const Value* whole = &value;
  for (const Node* concat = ConcatAround(value); concat != nullptr; concat = ConcatAround(*whole)) {
    whole = &concat->output(0);
  }
  if (whole == &value) return std::nullopt;
  std::vector<Format::Axis> axes;
  for (int dim = 0; dim < value.rank(); ++dim) {
    if (dim != kChannels) axes.push_back({dim, 1, value.dim(dim), value.dim(dim)});
  }
  axes.push_back({kChannels, 1, value.dim(kChannels), whole->dim(kChannels)});
  Format format = Format::Of(axes);
  if (!format.has_foreign_lanes()) return std::nullopt;
  return format;
}

std::optional<int64_t> PixelPitch(const Format& format, absl::Span<const int64_t> dims,
                                  int64_t channel_multiple) {
  if (format == Format::ChannelsLast(dims, channel_multiple)) {
    return (dims[kChannels] + channel_multiple - 1) / channel_multiple * channel_multiple;
  }
  const absl::Span<const Format::Axis> axes = format.axes();
  if (axes.empty() || axes.back().dim != kChannels) return std::nullopt;
  const int64_t pitch = axes.back().pitch;
  const bool is_alone = std::none_of(axes.begin(), axes.end() - 1, [](const Format::Axis& axis) {
    return axis.pitch != axis.extent;
  });
  const bool is_dense_else =
      format.WithoutForeignLanes() == Format::ChannelsLast(dims, channel_multiple);
  return is_alone && is_dense_else ? std::optional(pitch) : std::nullopt;
}

}  // namespace onnx_cudnn
