// The operand layouts that kernels support.
#pragma once

#include <vector>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// The number is the multiple that channels are padded to.
enum class Layout : uint8_t {
  kRowMajor = 0,
  kChannelsLast = 1,
  kChannelsLast4 = 4,
  kChannelsLast8 = 8,
};
Format InLayout(const Value& value, Layout layout);

// Row-major or channels-last, with or without padded channels: all operands with the rank of the
// largest one use the same layout (an operand with one channel is not padded beside one with
// several), others are row-major. For ops that treat all axes alike, or that work per image and
// channel.
std::vector<Formats> OneLayout(const Unit& unit, const Target& target);
// The same without padded channels.
std::vector<Formats> OneDenseLayout(const Unit& unit, const Target& target);
// Channels-last without padding only.
std::vector<Formats> ChannelsLastOnly(const Unit& unit, const Target& target);
// Inputs channels-last, outputs row-major, and the reverse; without padding.
std::vector<Formats> ChannelsLastToRowMajor(const Unit& unit, const Target& target);
std::vector<Formats> RowMajorToChannelsLast(const Unit& unit, const Target& target);
// OneLayout for ops along attribute `axis` (`otherwise` if it is absent) if that is the channel
// axis, which is innermost in channels-last; else row-major.
std::vector<Formats> AlongAxis(const Unit& unit, const Target& target, int64_t otherwise);

}  // namespace onnx_cudnn
