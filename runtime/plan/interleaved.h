// Concats along the channels of images whose inputs are written directly to the output: it lies
// channels-last, and each input has some of the lanes of every pixel.
#pragma once

#include <optional>

#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// Parts of a tensor, and its pixels where parts are interleaved, begin at multiples of this, since
// kernels access vectors.
inline constexpr int64_t kPartAlignment = 16;  // bytes

// Whether `value` can lie in the output of `concat`, whatever its Format: a Node writes it, and it
// lies nowhere else.
Support CheckJoined(const Value& value, const Node& concat);

// Whether the inputs of `concat` can be interleaved in its output.
Support CheckInterleaves(const Node& concat);

// The Format of `value` within the output of a Concat that CheckInterleaves accepts, or within the
// outermost one if Concats are nested. nullopt: it lies in none, or its lanes are contiguous there.
std::optional<Format> InterleavedFormat(const Value& value);

// The lanes from a pixel of a channels-last `format` to the next: the channels of `dims`, padded,
// or more if foreign lanes lie between them. nullopt: it is not channels-last.
std::optional<int64_t> PixelPitch(const Format& format, absl::Span<const int64_t> dims,
                                  int64_t channel_multiple = 1);

}  // namespace onnx_cudnn
