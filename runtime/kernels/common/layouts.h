// The layouts that a kernel takes for its operands.
#pragma once

#include <vector>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// The number is the multiple to which channels are padded.
enum class Layout : uint8_t {
  kRowMajor = 0,
  kChannelsLast = 1,
  kChannelsLast4 = 4,
  kChannelsLast8 = 8,
};
Format InLayout(const Value& value, Layout layout);

// Everything row-major.
std::vector<Formats> RowMajorOnly(const Unit& unit, const Target& target);
// Row-major or channels-last, with channels padded or not: all operands of the largest one's rank
// alike (where it has several channels and another operand one, that one is not padded), others
// row-major. For ops that mean the same along every axis, or that keep to images and channels.
std::vector<Formats> OneLayout(const Unit& unit, const Target& target);
// The same without padded channels.
std::vector<Formats> OneDenseLayout(const Unit& unit, const Target& target);
// Channels-last without padding, only.
std::vector<Formats> ChannelsLastOnly(const Unit& unit, const Target& target);
// OneLayout for ops along attribute `axis` (`otherwise` when it is absent) where that is the
// channels', which then are the innermost; else row-major.
std::vector<Formats> AlongAxis(const Unit& unit, const Target& target, int64_t otherwise);

}  // namespace onnx_cudnn
