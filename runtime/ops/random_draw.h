// The numbers of random ops: Philox, with a key for each Node and a counter of draws.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/base/not_copyable.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/philox.h"

namespace onnx_cudnn {

// Whether a Node may compute other numbers each time it runs: a random op, Dropout unless it surely
// does not train, or a Node with such a Node in a body. It is neither folded nor merged with an
// equal one, and its results cannot be compared.
bool IsRandom(const Node& node);

// The streams of numbers of a model's random Nodes, which end with it. A Node's copies (in Steps
// and Programs, for iterations) draw from the stream of the original. Thread-safe.
class RandomStreams : NotCopyable {
 public:
  // Gives each random Node of `graph` and of its bodies a stream, by attributes: attribute "seed"
  // and the Node's position in the model determine its numbers. Without a seed they come from the
  // system's random numbers.
  explicit RandomStreams(Graph& graph);
  ~RandomStreams();

 private:
  const int64_t id_;
};

// The attribute that refers to a RandomStreams. Its number differs between loads of one model, so
// it is not part of signatures.
inline constexpr std::string_view kRandomStreamsAttribute = "random_streams";

// The numbers for one run of a Node: those of an element are a function of the draw and the
// element's position, whichever thread computes them.
class RandomDraw {
 public:
  // The next draw of the Node's stream; concurrent callers get different ones. For a Node without a
  // stream (which no Session runs) the first draw of its seed, or a fresh seed.
  static RandomDraw Next(const Node& node);

  // Numbers in [0, 1), multiples of 2^-53, for elements 2 × pair and 2 × pair + 1.
  std::array<double, 2> Uniforms(int64_t pair) const;
  // Numbers of the normal distribution with mean 0 and deviation 1.
  std::array<double, 2> Normals(int64_t pair) const;
  double Uniform(int64_t element) const { return Uniforms(element / 2)[element % 2]; }

 private:
  RandomDraw(PhiloxKey key, uint64_t number) : key_(key), number_(number) {}

  PhiloxKey key_;
  uint64_t number_;
};

}  // namespace onnx_cudnn
