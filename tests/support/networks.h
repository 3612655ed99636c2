// Well-known networks as Graphs, for tests of partitioners and memory plans. BatchNorm after a Conv
// is already folded. All have static shapes and weights that share one buffer.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

struct NetworkSize {
  int64_t batch = 1;
  int64_t image = 224;        // height and width; a multiple of 32, ≥ 96
  int64_t channel_share = 1;  // divides all channels, to run on the CPU: 1, 2, 4, 8
};

Graph ResNet18(const NetworkSize& size = {});
Graph ResNet50(const NetworkSize& size = {});
// Inception v3: modules of four branches, 1x7 and 7x1 kernels, channel Concats.
Graph Inception(const NetworkSize& size = {});
// DenseNet-121: each layer reads the Concat of all earlier ones, through BatchNorm and Relu.
Graph DenseNet(const NetworkSize& size = {});
// Four levels down and up, skip connections at full width, ConvTranspose.
Graph UNet(const NetworkSize& size = {});
// ResNet-50 with a feature pyramid and two heads of four convolutions over five levels.
Graph RetinaNet(const NetworkSize& size = {});
// A stem, then stages of cells, each with five pairs over the two preceding cells (separable
// convolutions and pools).
Graph NasNet(const NetworkSize& size = {});

struct TransformerSize {
  int layers = 12;
  int64_t tokens = 16, past = 48;  // of this step; in the caches
  int64_t heads = 12, head_size = 64;
};
// Pre-norm decoder layers; past keys and values are inputs, present ones outputs.
Graph Transformer(const TransformerSize& size = {});

// The same Graph on f16; weights are zero.
Graph InHalves(Graph graph);

struct NamedNetwork {
  std::string_view name;
  Graph (*make)();
};
// All of them at their usual size.
std::vector<NamedNetwork> AllNetworks();

}  // namespace onnx_cudnn
