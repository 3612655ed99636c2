#include "runtime/kernels/cuda/conv_1x1.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/kernels/conv_chain_plan.h"
#include "runtime/kernels/cuda/operands.h"

namespace onnx_cudnn {
namespace {

constexpr int kOnlyCapability = 90;
constexpr int kElementBytes = 2;
constexpr int kTileFilters[] = {256, 128, 64};
constexpr int kMostKeptBytes = 8 * kConv1x1BoxBytes;  // of weights; six buffers are left

int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }
int64_t PixelsOf(const ConvShape& shape) { return shape.images * shape.out_size(); }

TensorMap MapOf(DType dtype, int64_t channels, int64_t columns, int64_t rows) {
  return {.element = dtype == DType::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kBF16,
          .rank = 3,
          .dims = {static_cast<uint64_t>(channels), static_cast<uint64_t>(columns),
                   static_cast<uint64_t>(rows)},
          .strides = {static_cast<uint64_t>(channels * kElementBytes),
                      static_cast<uint64_t>(channels * columns * kElementBytes)},
          .box = {kConv1x1Channels, 0, 1},
          .swizzles_128 = true};
}

// [pixels, channels] in boxes of `tile_pixels`.
TensorMap MapPixels(DType dtype, int64_t channels, int64_t pixels, int tile_pixels) {
  TensorMap map = MapOf(dtype, channels, pixels, 1);
  map.box[1] = static_cast<uint32_t>(tile_pixels);
  return map;
}

// Every second pixel of every second row: heights are even, so that rows of all images are one
// run.
TensorMap MapStrided(DType dtype, const ConvShape& shape, int tile_rows) {
  const int64_t columns = shape.window.w().out, rows = shape.window.h().out;
  TensorMap map = MapOf(dtype, shape.channels, columns, shape.images * rows);
  map.strides[0] *= static_cast<uint64_t>(shape.window.w().stride);
  map.strides[1] = static_cast<uint64_t>(shape.window.h().stride * shape.window.w().in *
                                         shape.channels * kElementBytes);
  map.box[1] = static_cast<uint32_t>(columns);
  map.box[2] = static_cast<uint32_t>(tile_rows);
  return map;
}

// One or two Convs, then an Add of a residual, then a Relu, either of which may be absent.
struct Chain {
  ChainConvs sources;
  const Value* residual = nullptr;
  bool has_relu = false;
};

absl::StatusOr<Chain> ChainOf(const Unit& unit) {
  Chain chain;
  ASSIGN_OR_RETURN(chain.sources, ChainConvsOf(unit));
  const Value& product = chain.sources.convs[0]->output(0);
  for (const Node* node : unit.nodes) {
    if (node->op() == "Relu") chain.has_relu = true;
    if (node->op() != "Add" || node == chain.sources.sum) continue;
    chain.residual = &node->input(&node->input(0) == &product ? 1 : 0);
  }
  return chain;
}

// A tile's pixels: whole rows where a source is strided, whose boxes those are.
int TilePixels(const std::vector<ConvShape>& shapes) {
  for (const ConvShape& shape : shapes) {
    const int columns = static_cast<int>(shape.window.w().out);
    if (shape.window.w().stride > 1) return kConv1x1Pixels / columns * columns;
  }
  return kConv1x1Pixels;
}

// The tile whose rounds take the least time, with what a round costs beside its products.
int TileFilters(int64_t filters, int pixel_tiles, int multiprocessors) {
  constexpr int kRoundFilters = 32;
  int best = 0, least = std::numeric_limits<int>::max();
  for (const int tile : kTileFilters) {
    if (filters % tile != 0) continue;
    const int rounds = CeilDiv(pixel_tiles * (filters / tile), std::max(multiprocessors, 1));
    const int cost = rounds * (tile + kRoundFilters);
    if (cost < least) best = tile, least = cost;
  }
  return best;
}

// Splits a block's shared memory.
void SetBuffers(const Conv1x1Form& form, Conv1x1Parameters& p) {
  const int weight_bytes = form.filters * kConv1x1RowBytes;  // of a slice
  const int most = kConv1x1MostBuffers;
  if (p.keeps_weights) {
    const int buffers = (kConv1x1SharedBytes - p.slices * weight_bytes) / kConv1x1BoxBytes;
    p.stages = std::min(buffers / 2, most);
    p.pieces = std::min(buffers - p.stages, most);
    return;
  }
  // Residuals come a tile ahead.
  const int least_pieces = form.has_residual ? form.filters / kConv1x1Channels + 1 : 2;
  const int stage_bytes = kConv1x1BoxBytes + weight_bytes;
  const int for_stages = kConv1x1SharedBytes - least_pieces * kConv1x1BoxBytes;
  p.stages = std::min(for_stages / stage_bytes, most);
  p.pieces = std::min((kConv1x1SharedBytes - p.stages * stage_bytes) / kConv1x1BoxBytes, most);
}

Derived PackWeights(const std::vector<int>& weights, int64_t filters, int tile_filters,
                    int64_t channels) {
  const int64_t elements = filters * channels;
  return {.from = weights,
          .recipe = absl::StrCat("conv_1x1 ", tile_filters),
          .to = Format::RowMajor({elements}),
          .make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            constexpr int kSlice = kConv1x1Channels, kUnit = 8;  // a unit: 16 bytes
            HostTensor made = HostTensor::Allocate(sources[0].dtype(), {elements});
            uint16_t* to = static_cast<uint16_t*>(made.mutable_raw());
            for (int64_t tile = 0; tile < filters; tile += tile_filters) {
              for (const HostTensor& source : sources) {
                const int64_t own = source.elements() / filters;
                for (int64_t channel = 0; channel < own; channel += kSlice) {
                  for (int row = 0; row < tile_filters; ++row, to += kSlice) {
                    const uint16_t* from =
                        static_cast<const uint16_t*>(source.raw()) + (tile + row) * own + channel;
                    for (int unit = 0; unit < kSlice / kUnit; ++unit) {
                      std::copy_n(from + unit * kUnit, kUnit, to + (unit ^ row % 8) * kUnit);
                    }
                  }
                }
              }
            }
            return made;
          }};
}

float FloatAt(const HostTensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kF16 ? ToFloat(tensor.data<Float16>()[i])
                                       : ToFloat(tensor.data<BFloat16>()[i]);
}

// The sum of the bias constants in f32; zeros where there is none (`weight` is any constant).
Derived SumBiases(std::vector<int> biases, int64_t filters, int weight) {
  const bool is_there = !biases.empty();
  if (!is_there) biases = {weight};
  return {.from = std::move(biases),
          .recipe = absl::StrCat(is_there ? "summed in f32" : "zeros of f32, ", filters),
          .to = Format::RowMajor({filters}),
          .make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            HostTensor made = HostTensor::Allocate(DType::kF32, {filters});
            for (int64_t i = 0; i < filters; ++i) {
              float sum = 0;
              for (const HostTensor& bias : sources) sum += is_there ? FloatAt(bias, i) : 0;
              made.mutable_data<float>()[i] = sum;
            }
            return made;
          }};
}

// The launch's numbers. `blocks`: its grid.
Conv1x1Parameters Plan(const std::vector<ConvShape>& shapes, int multiprocessors, Conv1x1Form& form,
                       int& blocks) {
  Conv1x1Parameters p = {};
  int64_t channels = 0;
  for (const ConvShape& shape : shapes) channels += shape.channels;
  p.first_slices = static_cast<int>(shapes[0].channels / kConv1x1Channels);
  p.slices = static_cast<int>(channels / kConv1x1Channels);
  p.tile_pixels = TilePixels(shapes);
  const int pixel_tiles = CeilDiv(PixelsOf(shapes[0]), p.tile_pixels);
  form.filters = TileFilters(shapes[0].filters, pixel_tiles, multiprocessors);
  p.filter_tiles = static_cast<int>(shapes[0].filters / form.filters);
  p.tiles = pixel_tiles * p.filter_tiles;
  blocks = std::min(p.tiles, multiprocessors);
  p.keeps_weights =
      p.slices * form.filters * kConv1x1RowBytes <= kMostKeptBytes && p.filter_tiles <= blocks;
  // Then a block's tiles are all of the same filters.
  if (p.keeps_weights) blocks -= blocks % p.filter_tiles;
  SetBuffers(form, p);
  return p;
}

}  // namespace

absl::StatusOr<KernelCode> CompileConv1x1(const KernelRequest& request) {
  const DeviceInfo& info = request.target.info;
  if (info.compute_capability != kOnlyCapability) {
    return absl::UnimplementedError("its code is for compute capability 9.0 alone");
  }
  ASSIGN_OR_RETURN(const Chain chain, ChainOf(request.unit));
  const std::vector<const Node*>& convs = chain.sources.convs;
  const std::vector<ConvShape>& shapes = chain.sources.shapes;
  Operands operands(request);
  const KernelOperand y = operands.Of(*request.unit.boundary.outputs[0]);
  if (y.value->elements() == 0) return KernelCode();
  Conv1x1Form form = {.dtype = y.dtype(), .has_residual = chain.residual != nullptr};
  int blocks = 0;
  Conv1x1Parameters parameters = Plan(shapes, info.multiprocessors, form, blocks);
  parameters.has_relu = chain.has_relu;

  std::vector<std::pair<KernelOperand, TensorMap>> images;
  for (size_t i = 0; i < convs.size(); ++i) {
    const ConvShape& shape = shapes[i];
    const int tile_rows = parameters.tile_pixels / static_cast<int>(shape.window.w().out);
    const bool is_strided = shape.window.w().stride > 1;
    parameters.image[i].columns = is_strided ? 0 : parameters.tile_pixels;
    parameters.image[i].rows = is_strided ? tile_rows : 0;
    images.emplace_back(operands.Of(convs[i]->input(0)),
                        is_strided ? MapStrided(form.dtype, shape, tile_rows)
                                   : MapPixels(form.dtype, shape.channels, PixelsOf(shape),
                                               parameters.tile_pixels));
  }
  KernelCode code;
  code.calls.push_back(Conv1x1Call(form, parameters, blocks));
  KernelCall& call = code.calls.back();
  for (size_t i = 0; i < images.size(); ++i) {
    const size_t at = offsetof(Conv1x1Parameters, image) + i * sizeof(Conv1x1Image);
    call.maps.push_back({at + offsetof(Conv1x1Image, map), images[i].first.slot, images[i].second});
  }
  TensorMap pixels =
      MapPixels(form.dtype, shapes[0].filters, PixelsOf(shapes[0]), parameters.tile_pixels);
  if (chain.residual != nullptr) {
    call.maps.push_back(
        {offsetof(Conv1x1Parameters, residual), operands.Of(*chain.residual).slot, pixels});
  }
  pixels.rank = 2;
  call.maps.push_back({offsetof(Conv1x1Parameters, result), y.slot, pixels});

  std::vector<int> weights, biases;
  int64_t channels = 0;
  for (size_t i = 0; i < convs.size(); ++i) {
    weights.push_back(operands.PositionOf(convs[i]->input(1)));
    if (convs[i]->has_input(2)) biases.push_back(operands.PositionOf(convs[i]->input(2)));
    channels += shapes[i].channels;
  }
  const int64_t filters = shapes[0].filters;
  call.Bind(offsetof(Conv1x1Parameters, weights),
            operands.Constant(PackWeights(weights, filters, form.filters, channels)));
  call.Bind(offsetof(Conv1x1Parameters, bias),
            operands.Constant(SumBiases(biases, filters, weights[0])));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
