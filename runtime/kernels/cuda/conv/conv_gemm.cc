#include "runtime/kernels/cuda/conv/conv_gemm_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/conv/register_operand.h"

namespace onnx_cudnn {
namespace {

constexpr int kPieceSide = 64;  // pixels and filters per piece of a wide tile

static_assert(kConvGemmSliceBytes == kConvGemmRowBytes);

int BytesOfElement(DType dtype) { return BitsOf(dtype) / 8; }
// Channels per slice of K and per row of a piece.
int SliceChannels(DType dtype) { return kConvGemmRowBytes / BytesOfElement(dtype); }

TensorMap::Element ElementOf(DType dtype) {
  if (dtype == DType::kF32) return TensorMap::Element::kF32;
  return dtype == DType::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kBF16;
}

// Maps [rows, columns, channels], dense, in boxes of a slice's channels and `box_columns`.
TensorMap MapRows(DType dtype, int64_t channels, int64_t columns, int64_t rows, int box_columns) {
  const int64_t pixel_bytes = channels * BytesOfElement(dtype);
  return {
      .element = ElementOf(dtype),
      .rank = 3,
      .dims = {static_cast<uint64_t>(channels), static_cast<uint64_t>(columns),
               static_cast<uint64_t>(rows)},
      .strides = {static_cast<uint64_t>(pixel_bytes), static_cast<uint64_t>(pixel_bytes * columns)},
      .box = {static_cast<uint32_t>(SliceChannels(dtype)), static_cast<uint32_t>(box_columns), 1},
      .swizzles_128 = true};
}

// Maps every second pixel of some rows; the rows of all images form one sequence.
TensorMap MapStrided(DType dtype, const ConvShape& shape, int tile_pixels) {
  const WindowAxis &h = shape.window.h(), &w = shape.window.w();
  TensorMap map =
      MapRows(dtype, shape.channels, w.out, shape.images * h.out, static_cast<int>(w.out));
  map.strides[1] = map.strides[0] * static_cast<uint64_t>(h.stride * w.in);
  map.strides[0] *= static_cast<uint64_t>(w.stride);
  map.box[2] = static_cast<uint32_t>(tile_pixels / w.out);
  return map;
}

// Maps a window in im2col mode.
TensorMap MapIm2col(DType dtype, const ConvShape& shape, int tile_pixels) {
  const WindowAxis &h = shape.window.h(), &w = shape.window.w();
  TensorMap map = MapRows(dtype, shape.channels, w.in, h.in, tile_pixels);
  map.rank = 4;
  map.dims[3] = static_cast<uint64_t>(shape.images);
  map.strides[2] = map.strides[1] * static_cast<uint64_t>(h.in);
  const auto last = [](const WindowAxis& axis) {
    return static_cast<int>(axis.pad_end - (axis.kernel - 1));
  };
  map.im2col = {.first = {static_cast<int>(-w.pad_begin), static_cast<int>(-h.pad_begin)},
                .last = {last(w), last(h)},
                .strides = {static_cast<uint32_t>(w.stride), static_cast<uint32_t>(h.stride)}};
  return map;
}

// One or two Convs, then an optional Add of a residual, then an optional Relu.
struct FusedConvs {
  UnitConvs sources;
  const Value* residual = nullptr;
  bool has_relu = false;
};

absl::StatusOr<FusedConvs> FusedConvsOf(const Unit& unit) {
  FusedConvs fused;
  ASSIGN_OR_RETURN(fused.sources, UnitConvsOf(unit));
  const Value& product = fused.sources.convs[0]->output(0);
  for (const Node* node : unit.nodes) {
    if (node->op() == "Relu") fused.has_relu = true;
    if (node->op() != "Add" || node == fused.sources.sum) continue;
    fused.residual = &node->input(&node->input(0) == &product ? 1 : 0);
  }
  return fused;
}

absl::StatusOr<ConvGemmTile> TileOf(const ConvGemmProduct& product, const KernelRequest& request) {
  if (request.variant.empty()) return ConvGemmTilesOf(product, request.target.info)[0];
  ASSIGN_OR_RETURN(const ConvGemmTile tile, ParseConvGemmTile(request.variant));
  if (product.HasCode(tile)) return tile;
  return absl::UnimplementedError(absl::StrCat("there is no code for ", product.filters(),
                                               " filters in tiles of ", tile.ToString()));
}

// Divides the shared memory of a block: at least `least_pieces` pieces, then as many slices as fit.
void SetBuffers(int slice_bytes, int piece_bytes, int least_pieces, int most_pieces,
                ConvGemmParameters& p) {
  const int for_slices = kConvGemmSharedBytes - least_pieces * piece_bytes;
  p.stages = std::min(for_slices / slice_bytes, kConvGemmMostBuffers);
  p.pieces = std::min((kConvGemmSharedBytes - p.stages * slice_bytes) / piece_bytes, most_pieces);
}

void SetNarrowBuffers(const ConvGemmForm& form, ConvGemmParameters& p) {
  const int box_bytes = form.pixels * kConvGemmRowBytes;  // pixels of a slice, or a piece
  const int weight_bytes = form.filters * kConvGemmRowBytes;
  if (p.keeps_weights) {
    const int buffers = (kConvGemmSharedBytes - p.slices * weight_bytes) / box_bytes;
    p.stages = std::min(buffers / 2, kConvGemmMostBuffers);
    p.pieces = std::min(buffers - p.stages, kConvGemmMostBuffers);
    return;
  }
  // Residuals are loaded one tile ahead, f32 residuals half a tile.
  const int least_pieces = form.has_residual ? form.filters / kPieceSide + 1 : 2;
  SetBuffers(box_bytes + weight_bytes, box_bytes, least_pieces, kConvGemmMostBuffers, p);
}

void SetWideBuffers(const ConvGemmForm& form, ConvGemmParameters& p) {
  constexpr int kGroups = 2;  // warpgroups, each with a ring of pieces
  constexpr int kMostPieces = kConvGemmMostBuffers / kGroups;
  const int element_bytes = BytesOfElement(form.dtype);
  // The residual of a tile is loaded ahead; for f32 half of it.
  const int least_pieces = (form.has_residual ? kMostPieces : kMostPieces / 2) * 2 / element_bytes;
  SetBuffers((form.pixels + form.filters) * kConvGemmRowBytes,
             kGroups * kPieceSide * kPieceSide * element_bytes, least_pieces, kMostPieces, p);
  // If loads can be far enough ahead, the first warpgroup ends its tile two slices before the
  // second.
  constexpr int kManyStages = 4;
  if (p.slices > p.stages) p.lead = p.stages >= kManyStages ? 2 : 1;
}

// The weights [filters, channels, taps] of each source, divided into filter tiles, taps and channel
// slices.
template <typename Bits>
void PackSlices(absl::Span<const HostTensor> sources, const std::vector<int64_t>& taps,
                int64_t filters, int tile_filters, Bits* to) {
  constexpr int kSlice = kConvGemmRowBytes / sizeof(Bits), kUnit = 16 / sizeof(Bits);
  for (int64_t tile = 0; tile < filters; tile += tile_filters) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const int64_t depth = sources[i].elements() / filters, channels = depth / taps[i];
      for (int64_t slice = 0; slice < depth; slice += kSlice) {
        const int64_t tap = slice / channels, channel = slice % channels;
        for (int row = 0; row < tile_filters; ++row, to += kSlice) {
          const Bits* from = static_cast<const Bits*>(sources[i].raw()) + (tile + row) * depth +
                             channel * taps[i] + tap;
          for (int c = 0; c < kSlice; ++c) {
            to[(c / kUnit ^ row % 8) * kUnit + c % kUnit] = WgmmaBits(from[c * taps[i]]);
          }
        }
      }
    }
  }
}

Derived PackWeights(const std::vector<int>& weights, const ConvGemmProduct& product,
                    int tile_filters) {
  const int64_t filters = product.filters(), elements = filters * product.depth();
  std::string recipe = absl::StrCat("conv_gemm ", tile_filters, " of ", filters, " taps");
  std::vector<int64_t> taps;
  for (const ConvShape& source : product.sources) {
    taps.push_back(source.window.kernel_size());
    absl::StrAppend(&recipe, " ", taps.back());
  }
  return {.from = weights,
          .recipe = recipe,
          .to = Format::RowMajor({elements}),
          .make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            HostTensor made = HostTensor::Allocate(sources[0].dtype(), {elements});
            if (made.dtype() == DType::kF32) {
              PackSlices(sources, taps, filters, tile_filters,
                         static_cast<uint32_t*>(made.mutable_raw()));
            } else {
              PackSlices(sources, taps, filters, tile_filters,
                         static_cast<uint16_t*>(made.mutable_raw()));
            }
            return made;
          }};
}

// A matrix of 16 bits [depth, filters], whose rows are read in order.
void PackMatrixSlices(const HostTensor& matrix, int64_t filters, int tile_filters, uint16_t* to) {
  constexpr int kSlice = kConvGemmRowBytes / 2, kUnit = 8;
  const int64_t depth = matrix.elements() / filters;
  const uint16_t* from = static_cast<const uint16_t*>(matrix.raw());
  for (int64_t tile = 0; tile < filters; tile += tile_filters) {
    for (int64_t slice = 0; slice < depth; slice += kSlice, to += tile_filters * kSlice) {
      for (int c = 0; c < kSlice; ++c) {
        const uint16_t* row = from + (slice + c) * filters + tile;
        for (int n = 0; n < tile_filters; ++n) {
          to[n * kSlice + (c / kUnit ^ n % 8) * kUnit + c % kUnit] = row[n];
        }
      }
    }
  }
}

Derived PackMatrix(int matrix, const ConvGemmProduct& product, int tile_filters) {
  const int64_t filters = product.filters(), elements = filters * product.depth();
  return {.from = {matrix},
          .recipe = absl::StrCat("conv_gemm ", tile_filters, " of ", filters, " columns"),
          .to = Format::RowMajor({elements}),
          .make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            HostTensor made = HostTensor::Allocate(sources[0].dtype(), {elements});
            PackMatrixSlices(sources[0], filters, tile_filters,
                             static_cast<uint16_t*>(made.mutable_raw()));
            return made;
          }};
}

float FloatAt(const HostTensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kF32) return tensor.data<float>()[i];
  return tensor.dtype() == DType::kF16 ? ToFloat(tensor.data<Float16>()[i])
                                       : ToFloat(tensor.data<BFloat16>()[i]);
}

// The sum of the bias constants in f32; zeros if there are none (`weight` is then any constant).
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

ConvGemmSource SourceOf(const ConvShape& shape, bool uses_im2col, int tile_pixels) {
  const WindowAxis &h = shape.window.h(), &w = shape.window.w();
  ConvGemmSource source = SourceWithWindow<ConvGemmSource>(shape);
  source.uses_im2col = uses_im2col;
  const bool is_strided = h.stride > 1 || w.stride > 1;
  if (!uses_im2col && is_strided) source.rows = tile_pixels / static_cast<int>(w.out);
  if (!uses_im2col && !is_strided) source.columns = tile_pixels;
  return source;
}

TensorMap MapOf(const ConvGemmSource& source, const ConvShape& shape, DType dtype,
                int tile_pixels) {
  const int64_t pixels = shape.images * shape.out_size();
  TensorMap map = source.uses_im2col ? MapIm2col(dtype, shape, tile_pixels)
                  : source.rows > 0  ? MapStrided(dtype, shape, tile_pixels)
                                     : MapRows(dtype, shape.channels, pixels, 1, tile_pixels);
  if (dtype == DType::kF32) map.element = TensorMap::Element::kTf32;
  return map;
}

// The numeric parameters of the launch. `blocks`: size of its grid.
ConvGemmParameters Plan(const ConvGemmProduct& product, const ConvGemmTile& tile,
                        const ConvGemmForm& form, const DeviceInfo& info, int& blocks) {
  const ConvGemmRounds rounds = ConvGemmRoundsOf(product, tile, info);
  const Window& window = product.sources[0].window;
  ConvGemmParameters p = {};
  p.sources = static_cast<int>(product.sources.size());
  p.columns = static_cast<int>(window.w().out);
  p.rows = static_cast<int>(window.h().out);
  p.slices = static_cast<int>(product.slices());
  p.tile_pixels = product.TilePixels(tile);
  p.filter_tiles = static_cast<int>(rounds.filter_tiles);
  p.tiles = static_cast<int>(rounds.tiles);
  blocks = std::min(p.tiles, std::max(info.multiprocessors, 1));
  p.keeps_weights = product.KeepsWeights(tile) && p.filter_tiles <= blocks;
  // All tiles of a block then have the same filters.
  if (p.keeps_weights) blocks -= blocks % p.filter_tiles;
  for (int i = 0; i < p.sources; ++i) {
    const ConvShape& shape = product.sources[i];
    p.source[i] = SourceOf(shape, product.UsesIm2col(shape, tile), p.tile_pixels);
  }
  if (tile.is_wide()) {
    SetWideBuffers(form, p);
  } else {
    SetNarrowBuffers(form, p);
  }
  return p;
}

}  // namespace

absl::StatusOr<KernelCode> ConvGemmCode(const KernelRequest& request, const ConvGemmWork& work) {
  const ConvGemmProduct& product = work.product;
  ASSIGN_OR_RETURN(const ConvGemmTile tile, TileOf(product, request));
  Operands operands(request);
  const KernelOperand y = operands.Of(*work.y);
  const ConvGemmForm form = {.dtype = y.dtype(),
                             .pixels = tile.pixels,
                             .filters = tile.filters,
                             .ping_pong = tile.ping_pong,
                             .has_residual = work.residual != nullptr,
                             .has_gelu = product.has_gelu};
  int blocks = 0;
  ConvGemmParameters parameters = Plan(product, tile, form, request.target.info, blocks);
  parameters.has_relu = work.has_relu;

  KernelCode code;
  code.calls.push_back(ConvGemmCall(form, parameters, blocks));
  KernelCall& call = code.calls.back();
  call.next_uses_pdl_at = offsetof(ConvGemmParameters, next_uses_pdl);
  for (size_t i = 0; i < work.images.size(); ++i) {
    const size_t at = offsetof(ConvGemmParameters, source) + i * sizeof(ConvGemmSource);
    call.maps.push_back(
        {at + offsetof(ConvGemmSource, map), operands.Of(*work.images[i]).slot,
         MapOf(parameters.source[i], product.sources[i], form.dtype, parameters.tile_pixels)});
  }
  TensorMap pieces = MapRows(form.dtype, product.filters(), product.pixels(), 1,
                             tile.is_wide() ? kPieceSide : parameters.tile_pixels);
  if (work.residual != nullptr) {
    call.maps.push_back(
        {offsetof(ConvGemmParameters, residual), operands.Of(*work.residual).slot, pieces});
  }
  pieces.rank = 2;
  call.maps.push_back({offsetof(ConvGemmParameters, result), y.slot, pieces});
  std::vector<int> weights, biases;
  for (const Value* w : work.weights) weights.push_back(operands.PositionOf(*w));
  for (const Value* bias : work.biases) biases.push_back(operands.PositionOf(*bias));
  Derived packed = work.columns_innermost ? PackMatrix(weights[0], product, form.filters)
                                          : PackWeights(weights, product, form.filters);
  call.Bind(offsetof(ConvGemmParameters, weights), operands.Constant(std::move(packed)));
  call.Bind(offsetof(ConvGemmParameters, bias),
            operands.Constant(SumBiases(biases, product.filters(), weights[0])));
  code.constants = operands.TakeConstants();
  return code;
}

absl::StatusOr<KernelCode> CompileConvGemm(const KernelRequest& request) {
  ASSIGN_OR_RETURN(const FusedConvs fused, FusedConvsOf(request.unit));
  const Value& y = *request.unit.boundary.outputs[0];
  if (y.elements() == 0) return KernelCode();
  if (y.dtype() == DType::kF32 && !request.target.numerics.tf32) {
    return absl::UnimplementedError("its products of f32 are tf32, which is not allowed");
  }
  ConvGemmWork work = {.product = ConvGemmProductOf(request.unit),
                       .residual = fused.residual,
                       .y = &y,
                       .has_relu = fused.has_relu};
  for (const Node* conv : fused.sources.convs) {
    work.images.push_back(&conv->input(0));
    work.weights.push_back(&conv->input(1));
    if (conv->has_input(2)) work.biases.push_back(&conv->input(2));
  }
  return ConvGemmCode(request, work);
}

}  // namespace onnx_cudnn
