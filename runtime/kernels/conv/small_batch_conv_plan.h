// How the kernel small_batch_conv runs a Unit: its convolutions, and the tiles that they are cut
// into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/conv/small_batch_conv_layout.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

// The Convs of a Unit and how they are connected.
struct UnitConvs {
  std::vector<const Node*> convs;
  std::vector<ConvShape> shapes;
  bool summed = false;        // two sources with one output; otherwise each Conv has its own output
  const Node* sum = nullptr;  // the Add of two sources
  const Node* pad = nullptr;  // a Pad in the Unit before its only Conv; the shape includes its pads

  // The input of the i-th Conv, or of the Pad before it.
  const Value& image(int i) const { return (pad == nullptr ? convs[i] : pad)->input(0); }
};
absl::StatusOr<UnitConvs> UnitConvsOf(const Unit& unit);

// What a folded BatchNormalization before a Conv computes on the image: x · scale + shift, then
// perhaps Relu, with a factor and an addend for each channel.
struct AffinePrologue {
  const Value *x, *scale, *shift;
  bool clamps;
};
// nullopt: nothing precedes `conv` in the Unit, or something else.
std::optional<AffinePrologue> AffinePrologueOf(const Node& conv, const Unit& unit);

// A source for device code, with its channels and window in fields of these names.
template <typename Source>
Source SourceWithWindow(const ConvShape& shape) {
  const WindowAxis &h = shape.window.h(), &w = shape.window.w();
  Source source = {};
  source.channels = static_cast<int>(shape.channels);
  source.kernel_h = static_cast<int>(h.kernel);
  source.kernel_w = static_cast<int>(w.kernel);
  source.stride_h = static_cast<int>(h.stride);
  source.stride_w = static_cast<int>(w.stride);
  source.pad_h = static_cast<int>(h.pad_begin);
  source.pad_w = static_cast<int>(w.pad_begin);
  return source;
}

// How a tile runs. Where no prologue, stem or epilogue program prevents it, kUsual is the plain
// form (runtime/kernels/cuda/conv/small_batch_conv.h), and the next launch may start at once.
enum class SmallBatchForm : uint8_t {
  kUsual,
  kLate,     // the next launch may start once this one's loads are under way
  kGeneral,  // the general form although the plain one takes it
};

// A tile and a split of K.
struct SmallBatchTile {
  int pixels = 0, filters = 0, split = 1;
  SmallBatchForm form = SmallBatchForm::kUsual;
  // "tile=64x32 split=4": pixels × filters; then " next=late" or " form=general"
  std::string ToString() const;
};
absl::StatusOr<SmallBatchTile> ParseSmallBatchTile(std::string_view text);

// A Unit cut into tiles of one size.
struct SmallBatchPlan {
  SmallBatchTile tile;
  SmallBatchTiling tiling;
  int sources = 0;
  SmallBatchSource source[kSmallBatchSources];
  int steps = 0;  // of K in a part, over all sources
  int siblings = 0;
  int filters[kSmallBatchSiblings] = {};    // per output
  int64_t pitch[kSmallBatchSiblings] = {};  // elements from a pixel of an output to the next
  // Index of each output's first filter tile; the last entry is the total.
  int first_tile[kSmallBatchSiblings + 1] = {};
  // Shared memory in bytes: slab | patches, reused for partial sums | sums from the other parts |
  // tables.
  int slab_bytes = 0, patch_bytes = 0, received_bytes = 0, table_bytes = 0;

  int warps_k() const {
    return kSmallBatchThreads / 32 / (tile.pixels / 32 * ((tile.filters + 31) / 32));
  }
  int shared_bytes() const { return slab_bytes + patch_bytes + received_bytes + table_bytes; }
  int64_t blocks() const {
    return int64_t{1} * tiling.images * tiling.per_image() * first_tile[siblings] * tile.split;
  }
};
// Unimplemented if it does not fit `shared_bytes` per block, or a part would have no work.
absl::StatusOr<SmallBatchPlan> PlanSmallBatch(const UnitConvs& convs, const SmallBatchTile& tile,
                                              int64_t shared_bytes);

// A plan for every tile that fits, in order of predicted time.
std::vector<SmallBatchPlan> SmallBatchPlansOf(const UnitConvs& convs, const DeviceInfo& info);

// The slabs of every filter tile and part, part fastest: u8[bytes]. Its sources are the weights of
// all Convs in order, then the existing biases.
Derived PackSmallBatchWeights(const UnitConvs& convs, const SmallBatchPlan& plan, const Unit& unit);

}  // namespace onnx_cudnn
