#include "runtime/kernels/conv/small_batch_conv_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/base/status.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/ops/elements.h"
#include "runtime/plan/fused_tensor.h"

namespace onnx_cudnn {
namespace {

// Pixels × filters.
constexpr int kTiles[][2] = {{32, 32}, {32, 64}, {64, 32}, {64, 64}, {32, 16}, {64, 16}};
constexpr int kSplits[] = {1, 2, 4, 8};
constexpr std::pair<SmallBatchForm, std::string_view> kForms[] = {
    {SmallBatchForm::kUsual, ""},
    {SmallBatchForm::kLate, " next=late"},
    {SmallBatchForm::kGeneral, " form=general"}};
constexpr int kWarpFilters = 32;
constexpr int kAlignment = 128;  // bytes, for the regions of shared memory
constexpr int kBankBytes = 128;  // width of all banks of shared memory
constexpr double kKiB = 1024;
constexpr int64_t kMostElements = int64_t{1} << 31;  // per image: offsets are 32 bits

int Align(int64_t bytes) {
  return static_cast<int>((bytes + kAlignment - 1) / kAlignment * kAlignment);
}

// The Add of the outputs of two Convs.
const Node* SumOf(const Unit& unit, const std::vector<const Node*>& convs) {
  if (convs.size() != 2) return nullptr;
  for (const Node* node : unit.nodes) {
    if (node->op() != "Add") continue;
    const Node *a = node->input(0).producer(), *b = node->input(1).producer();
    if ((a == convs[0] && b == convs[1]) || (a == convs[1] && b == convs[0])) return node;
  }
  return nullptr;
}

bool IsOutput(const Unit& unit, const Value& value) {
  const auto& outputs = unit.boundary.outputs;
  return std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

SmallBatchTiling TilingOf(const UnitConvs& convs, const SmallBatchTile& tile) {
  const ConvShape& shape = convs.shapes[0];
  SmallBatchTiling t{.images = static_cast<int>(shape.images),
                     .rows = static_cast<int>(shape.window.h().out),
                     .columns = static_cast<int>(shape.window.w().out)};
  t.flat = std::all_of(convs.shapes.begin(), convs.shapes.end(),
                       [](const ConvShape& s) { return s.window.kernel_size() == 1; });
  t.tile_pixels = tile.pixels;
  if (t.flat) {
    t.tile_rows = 1, t.tile_columns = tile.pixels;
    t.down = 1, t.across = CeilDiv(t.rows * t.columns, tile.pixels);
    return t;
  }
  t.across = CeilDiv(t.columns, tile.pixels);
  t.tile_columns = CeilDiv(t.columns, t.across);
  t.tile_rows = std::min(tile.pixels / t.tile_columns, t.rows);
  t.down = CeilDiv(t.rows, t.tile_rows);
  return t;
}

// Bytes to add to each row of the patch so that windows of adjacent pixels begin in adjacent banks,
// also across the rows of the tile; nullopt if no number does.
int RowStagger(const SmallBatchTiling& t, const SmallBatchSource& s) {
  if (s.is_stem || t.tile_rows == 1) return 0;
  const int row_bytes = s.patch_columns() * s.pixel_bytes;
  for (int bytes = 0; bytes < kBankBytes; bytes += kSmallBatchStagger) {
    const int gap = s.stride_h * (row_bytes + bytes) - t.tile_columns * s.pixel_bytes;
    if (gap % kBankBytes == 0) return bytes;
  }
  return 0;
}

void SetPatch(const SmallBatchTiling& t, SmallBatchSource& s) {
  s.phases = s.is_stem || s.gathers() ? 1 : s.stride_w;
  if (s.gathers()) {
    s.patch_rows = 1;
    s.phase_columns = t.tile_pixels;
  } else {
    s.patch_rows = (t.tile_rows - 1) * s.stride_h + s.kernel_h;
    s.phase_columns = CeilDiv((t.tile_columns - 1) * s.stride_w + s.kernel_w, s.phases);
    if (s.is_stem) s.phase_columns += s.phase_columns % 2;  // so that rows also begin at 16 bytes
  }
  s.row_bytes = s.patch_columns() * s.pixel_bytes + RowStagger(t, s);
  s.patch_bytes = Align(s.patch_rows * s.row_bytes + 2 * kSmallBatchStep);
}

SmallBatchSource SourceOf(const ConvShape& shape, const SmallBatchTiling& t, int split) {
  SmallBatchSource s = SourceWithWindow<SmallBatchSource>(shape);
  s.height = static_cast<int>(shape.window.h().in);
  s.width = static_cast<int>(shape.window.w().in);
  s.is_stem = s.channels <= kSmallBatchFewChannels;
  s.lanes = s.is_stem ? kSmallBatchFewChannels : s.channels;
  if (s.is_stem) {
    // A window begins at a multiple of 16 bytes.
    s.part_channels = s.stride_w % 2 == 0 && !s.gathers() ? 4 : 8;
    s.pixel_bytes = 2 * s.part_channels;
  } else {
    s.part_channels = CeilDiv(CeilDiv(s.channels, kSmallBatchStep), split) * kSmallBatchStep;
    s.pixel_bytes = 2 * s.part_channels + kSmallBatchStagger;
  }
  SetPatch(t, s);
  s.steps = s.is_stem ? s.kernel_h * SmallBatchStepsOfRow(s)
                      : s.kernel_h * s.kernel_w * (s.part_channels / kSmallBatchStep);
  return s;
}

double UsOf(const SmallBatchPlan& plan, const DeviceInfo& info) {
  const auto& calibration = info.calibration.kernels.small_batch_conv.tiles;
  const int64_t blocks = plan.blocks(), processors = std::max(info.multiprocessors, 1);
  const auto rounds = [&](int64_t at_once) {
    return static_cast<double>(CeilDiv(blocks, at_once));
  };
  const int64_t together =
      std::max<int64_t>(1, info.shared_bytes_per_block / std::max(plan.shared_bytes(), 1));
  int patch = 0;
  for (int i = 0; i < plan.sources; ++i) patch += plan.source[i].patch_bytes;
  const double all_us =
      static_cast<double>(blocks) *
      (calibration.us_per_weight_kib * plan.slab_bytes + calibration.us_per_patch_kib * patch) /
      kKiB;
  const double own_us =
      rounds(processors) * calibration.us_per_own_kib * (plan.slab_bytes + patch) / kKiB;
  const double of_warp = std::min(plan.tile.filters, kWarpFilters) / double{kWarpFilters};
  const double step_us = calibration.us_per_step * of_warp * CeilDiv(plan.steps, plan.warps_k());
  const double cluster_us =
      plan.tile.split > 1
          ? calibration.cluster_us + calibration.doubling_us * std::log2(plan.tile.split)
          : 0;
  return std::max(all_us, own_us) + rounds(processors) * step_us + cluster_us +
         calibration.wave_us * (rounds(processors * together) - 1);
}

// Packs the weights for one filter tile of one Conv, or of two that are added.
class Packer {
 public:
  Packer(const SmallBatchPlan& plan, absl::Span<const HostTensor> sources, std::vector<int> bias_of)
      : plan_(plan), sources_(sources), bias_of_(std::move(bias_of)) {}

  // `filter`: the first one; filters from `count` on are zero.
  void Pack(int sibling, int filter, int part, char* slab) const {
    const int row_bytes = SmallBatchRowBytes(plan_.steps), count = plan_.filters[sibling];
    float* biases = reinterpret_cast<float*>(slab + plan_.tile.filters * row_bytes);
    for (int n = 0; n < plan_.tile.filters && filter + n < count; ++n) {
      uint16_t* row = reinterpret_cast<uint16_t*>(slab + n * row_bytes);
      for (int i = 0; i < plan_.sources; ++i) {
        const int conv = plan_.sources > 1 ? i : sibling;
        PackRow(plan_.source[i], sources_[conv], filter + n, part,
                row + plan_.source[i].first_step * kSmallBatchStep);
        biases[n] += BiasOf(conv, filter + n);
      }
    }
  }

 private:
  void PackRow(const SmallBatchSource& s, const HostTensor& w, int filter, int part,
               uint16_t* row) const {
    const uint16_t* from = static_cast<const uint16_t*>(w.raw());
    for (int step = 0; step < s.steps; ++step) {
      for (int e = 0; e < kSmallBatchStep; ++e) {
        const SmallBatchProduct p = SmallBatchProductOf(s, part, step, e);
        if (p.channel < 0) continue;
        const int64_t at =
            ((int64_t{filter} * s.channels + p.channel) * s.kernel_h + p.row) * s.kernel_w +
            p.column;
        row[step * kSmallBatchStep + e] = from[at];
      }
    }
  }

  float BiasOf(int conv, int filter) const {
    if (bias_of_[conv] < 0) return 0;
    const HostTensor& bias = sources_[bias_of_[conv]];
    const uint16_t bits = static_cast<const uint16_t*>(bias.raw())[filter];
    return bias.dtype() == DType::kF16 ? ToFloat(Float16{bits}) : ToFloat(BFloat16{bits});
  }

  const SmallBatchPlan& plan_;
  absl::Span<const HostTensor> sources_;
  std::vector<int> bias_of_;  // by Conv: index among the sources, or -1
};

// The Pad before the only Conv, if it is part of the Unit.
const Node* PadOf(const Unit& unit, const std::vector<const Node*>& convs) {
  if (convs.size() != 1) return nullptr;
  const Node* pad = ZeroPadBefore(*convs[0]);
  return pad != nullptr && Contains(unit.nodes, pad) ? pad : nullptr;
}

int PositionOf(const Value& constant, const Unit& unit) {
  const auto& constants = unit.boundary.constants;
  return static_cast<int>(std::find(constants.begin(), constants.end(), &constant) -
                          constants.begin());
}

// The Node of the Unit that computes `value`, if it is an `op`; otherwise nullptr.
const Node* MadeBy(std::string_view op, const Value& value, const Unit& unit) {
  const Node* node = value.producer();
  return node != nullptr && node->op() == op && Contains(unit.nodes, node) ? node : nullptr;
}

// The operand of a Mul or Add that has a constant for each channel of the other; -1: none.
int PerChannelOperand(const Node& node) {
  for (const int i : {0, 1}) {
    const Value &constant = node.input(i), &image = node.input(1 - i);
    const bool is_it = constant.is_constant() && constant.dtype() == image.dtype() &&
                       ShapeOf(constant, ImageOf(image)) == OperandShape::kPerChannel;
    if (is_it) return i;
  }
  return -1;
}

}  // namespace

std::optional<AffinePrologue> AffinePrologueOf(const Node& conv, const Unit& unit) {
  const Value* image = &conv.input(0);
  if (image->dim(1) % kSmallBatchPiece != 0) return std::nullopt;
  const Node* relu = MadeBy("Relu", *image, unit);
  const Node* add = MadeBy("Add", relu == nullptr ? *image : relu->input(0), unit);
  const int shift = add == nullptr ? -1 : PerChannelOperand(*add);
  const Node* mul = shift < 0 ? nullptr : MadeBy("Mul", add->input(1 - shift), unit);
  const int scale = mul == nullptr ? -1 : PerChannelOperand(*mul);
  if (scale < 0) return std::nullopt;
  const Value& x = mul->input(1 - scale);
  const bool is_read = x.type() == image->type() && !Contains(unit.nodes, x.producer());
  if (!is_read || x.is_constant()) return std::nullopt;
  return AffinePrologue{&x, &mul->input(scale), &add->input(shift), relu != nullptr};
}

absl::StatusOr<UnitConvs> UnitConvsOf(const Unit& unit) {
  UnitConvs convs{.convs = ConvsOf(unit.nodes)};
  convs.pad = PadOf(unit, convs.convs);
  for (const Node* conv : convs.convs) {
    ASSIGN_OR_RETURN(const ConvShape shape, convs.pad == nullptr ? StaticConvShape(*conv)
                                                                 : ShapeWithPad(*conv, *convs.pad));
    convs.shapes.push_back(shape);
  }
  const Node* sum = SumOf(unit, convs.convs);
  const bool inside = sum != nullptr && !IsOutput(unit, convs.convs[0]->output(0)) &&
                      !IsOutput(unit, convs.convs[1]->output(0));
  if (inside && convs.convs[0]->output(0).has_one_use() &&
      convs.convs[1]->output(0).has_one_use()) {
    convs.summed = true;
    convs.sum = sum;
  }
  return convs;
}

std::string SmallBatchTile::ToString() const {
  const auto* says = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const auto& known) { return known.first == form; });
  return absl::StrCat("tile=", pixels, "x", filters, " split=", split, says->second);
}

absl::StatusOr<SmallBatchTile> ParseSmallBatchTile(std::string_view text) {
  for (const auto& [pixels, filters] : kTiles) {
    for (const int split : kSplits) {
      for (const auto& [form, says] : kForms) {
        const SmallBatchTile tile{pixels, filters, split, form};
        if (tile.ToString() == text) return tile;
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no tile of small_batch_conv, expected \"tile=64x64 split=1\""));
}

absl::StatusOr<SmallBatchPlan> PlanSmallBatch(const UnitConvs& convs, const SmallBatchTile& tile,
                                              int64_t shared_bytes) {
  SmallBatchPlan plan{.tile = tile, .tiling = TilingOf(convs, tile)};
  plan.sources = convs.summed ? 2 : 1;
  int64_t patches = 0, table = tile.pixels;
  for (int i = 0; i < plan.sources; ++i) {
    const ConvShape& shape = convs.shapes[i];
    SmallBatchSource& s = plan.source[i] = SourceOf(shape, plan.tiling, tile.split);
    if (tile.split > 1 && (s.is_stem || CeilDiv(s.channels, kSmallBatchStep) < tile.split)) {
      return absl::UnimplementedError(
          absl::StrCat(s.channels, " channels are too few for ", tile.split, " blocks"));
    }
    if (shape.in_size() * s.lanes >= kMostElements ||
        shape.out_size() * shape.filters >= kMostElements) {
      return absl::UnimplementedError("an image has 2^31 elements or more");
    }
    s.first_step = plan.steps;
    plan.steps += s.steps;
    patches += s.patch_bytes;
    table += s.patch_pixels();
  }
  plan.siblings = convs.summed ? 1 : static_cast<int>(convs.convs.size());
  for (int i = 0; i < plan.siblings; ++i) {
    plan.filters[i] = static_cast<int>(convs.shapes[i].filters);
    plan.pitch[i] = plan.filters[i];
    plan.first_tile[i + 1] = plan.first_tile[i] + CeilDiv(plan.filters[i], tile.filters);
  }
  if (plan.blocks() > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat(plan.blocks(), " blocks are more than a grid has"));
  }
  const int64_t partial = int64_t{4} * plan.warps_k() * tile.pixels * (tile.filters + 8);
  const int64_t slab = SmallBatchSlabBytes(tile.filters, plan.steps);
  const int64_t table_bytes = 4 * (table + plan.steps);
  const int64_t received = tile.split > 1 ? int64_t{4} * tile.pixels * tile.filters : 0;
  const int64_t all = slab + std::max(patches, partial) + received + table_bytes + 5 * kAlignment;
  if (all > shared_bytes) {
    return absl::UnimplementedError(
        absl::StrCat(all, " bytes of shared memory a block, ", shared_bytes, " are there"));
  }
  plan.slab_bytes = Align(slab);
  plan.patch_bytes = Align(std::max(patches, partial));
  plan.received_bytes = Align(received);
  plan.table_bytes = Align(table_bytes);
  return plan;
}

std::vector<SmallBatchPlan> SmallBatchPlansOf(const UnitConvs& convs, const DeviceInfo& info) {
  std::vector<std::pair<double, SmallBatchPlan>> found;
  for (const auto& tile : kTiles) {
    for (const int split : kSplits) {
      const auto plan =
          PlanSmallBatch(convs, {tile[0], tile[1], split}, info.shared_bytes_per_block);
      if (plan.ok()) found.emplace_back(UsOf(*plan, info), *plan);
    }
  }
  // No price is known for a depth that tiles of fewer filters alone hold.
  if (std::all_of(found.begin(), found.end(),
                  [](const auto& f) { return f.second.tile.filters < kWarpFilters; })) {
    return {};
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SmallBatchPlan> plans;
  for (auto& [us, plan] : found) plans.push_back(plan);
  return plans;
}

Derived PackSmallBatchWeights(const UnitConvs& convs, const SmallBatchPlan& plan,
                              const Unit& unit) {
  std::vector<int> from, bias_of;
  // Tiles of fewer or more pixels read the same slabs.
  std::string recipe = absl::StrCat("small_batch_conv filters=", plan.tile.filters,
                                    " split=", plan.tile.split, " sum=", plan.sources > 1);
  for (const Node* conv : convs.convs) from.push_back(PositionOf(conv->input(1), unit));
  for (size_t i = 0; i < convs.convs.size(); ++i) {
    const bool has_bias = convs.convs[i]->has_input(2);
    bias_of.push_back(has_bias ? static_cast<int>(from.size()) : -1);
    if (has_bias) from.push_back(PositionOf(convs.convs[i]->input(2), unit));
    // Further properties that the layout depends on: the order of dims, biases and the stride.
    const SmallBatchSource& s = plan.source[plan.sources > 1 ? i : 0];
    absl::StrAppend(&recipe, " w", ToString(absl::MakeConstSpan(convs.convs[i]->input(1).dims())),
                    has_bias ? " b" : "", " lanes=", s.part_channels);
  }
  const int row = SmallBatchSlabBytes(plan.tile.filters, plan.steps);
  const int64_t bytes = int64_t{row} * plan.first_tile[plan.siblings] * plan.tile.split;
  const auto make = [plan, bias_of, bytes,
                     row](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
    HostTensor slabs = HostTensor::Allocate(DType::kU8, {bytes});
    char* slab = static_cast<char*>(slabs.mutable_raw());
    std::memset(slab, 0, static_cast<size_t>(bytes));
    const Packer packer(plan, sources, bias_of);
    for (int sibling = 0; sibling < plan.siblings; ++sibling) {
      const int tiles = plan.first_tile[sibling + 1] - plan.first_tile[sibling];
      for (int tile = 0; tile < tiles; ++tile) {
        for (int part = 0; part < plan.tile.split; ++part, slab += row) {
          packer.Pack(sibling, tile * plan.tile.filters, part, slab);
        }
      }
    }
    return slabs;
  };
  return {.from = from, .recipe = recipe, .to = Format::RowMajor({bytes}), .make = make};
}

}  // namespace onnx_cudnn
