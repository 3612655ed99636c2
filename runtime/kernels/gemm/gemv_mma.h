// Rules for products of up to 16 rows on tensor cores: gemv_mma, and gemv_4bit with weights of four
// bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// The Nodes of a product whose weights are stored in four bits: DequantizeLinear of a constant, a
// Transpose or none, and the MatMul or Gemm.
struct Product4Bit {
  const Node* dequantize = nullptr;
  const Node* transpose = nullptr;  // nullptr: none
  const Node* product = nullptr;

  // Whether K is the inner axis of the constant.
  bool depth_is_inner() const;
};
// dequantize is nullptr if the weights of `product` are something else.
Product4Bit Find4Bit(const Node& product);

// activation(x·gate) · (x·up), the first half of a gated MLP.
struct GatedProducts {
  const Node* gate = nullptr;
  const Node* activation = nullptr;
  const Node* up = nullptr;
  const Node* mul = nullptr;
};
// gate is nullptr if `product` is not the gate of such Nodes, or one of their results has another
// reader.
GatedProducts FindGated(const Node& product);

// The columns of results per block that there is code for, the best guess first. `matrices` is 2
// for gated products.
std::vector<int> GemvMmaColumns(int64_t rows, int64_t columns, int matrices, int multiprocessors);

// How weights of four bits in blocks of 32 and more along K are divided: the columns of results per
// block of threads, and the blocks that divide the depth among them.
struct Gemv4BitTile {
  int columns, split;

  std::string Text() const;
};
// The tiles that there is code for, the best guess first; none for smaller blocks along K, which
// have the columns of GemvMmaColumns.
std::vector<Gemv4BitTile> Gemv4BitTiles(const Unit& unit, const DeviceInfo& info);
// The one of this text, "" being the first; nullopt: there is none.
std::optional<Gemv4BitTile> Gemv4BitTileOf(const Unit& unit, const DeviceInfo& info,
                                           std::string_view text);

}  // namespace onnx_cudnn
