// What conv_chain.cc asks of conv_chain_f16.cu and conv_chain_bf16.cu.
#pragma once

#include <cstdint>

#include "runtime/kernels/conv_chain_layout.h"
#include "runtime/kernels/cuda/chain_epilogue.h"
#include "runtime/kernels/cuda/fast_divide.cuh"
#include "runtime/kernels/cuda/kernel_call.h"

namespace onnx_cudnn {

// Where a source is read and its patch lies.
struct ConvChainImage {
  const void* x;                // nullptr: a chain computes it
  int prologue;                 // the segment of that chain, or -1
  int patch_at;                 // bytes behind the first patch
  int table_at;                 // ints behind the first table: offsets of the patch's pixels
  FastDivide<uint32_t> pieces;  // of a pixel in the patch: 16 bytes, or a stem's lanes
};

// What follows the sums of a Conv's filters: relu(sum + residual) into y, or a chain.
struct ConvChainOutput {
  void* y;
  const void* residual;  // dense, as y; nullptr: none
  int filters;
  int first_tile;  // of filters
  int epilogue;    // the segment of the chain, or -1
  bool relu;
};

struct ConvChainParameters {
  const void* slabs;
  ChainTiles tiles;
  ChainSource source[kChainSources];
  ConvChainImage image[kChainSources];
  ConvChainOutput output[kChainSiblings];
  int sources, siblings;
  int steps;                            // of K in a part
  int split, log_split;                 // blocks of a cluster
  int slab_bytes;                       // as it is copied
  int patch_at, received_at, table_at;  // bytes in shared memory
  int step_table_at;                    // ints behind the first table
};

// Of a link with prologues or epilogues that are chains. Apart, for a launch takes longer with more
// parameters and code.
struct ConvChainWithProgramParameters {
  ConvChainParameters link;
  ChainProgram program;
};

// A tile of pixels × filters: 32 or 64 each.
//   program  nullptr: no prologue or epilogue is a chain
KernelCall ConvChainF16Call(int pixels, int filters, const LaunchShape& shape,
                            const ConvChainParameters& parameters, const ChainProgram* program);
KernelCall ConvChainBF16Call(int pixels, int filters, const LaunchShape& shape,
                             const ConvChainParameters& parameters, const ChainProgram* program);

}  // namespace onnx_cudnn
