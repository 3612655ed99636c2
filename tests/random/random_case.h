#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tests/random/part.h"

namespace onnx_cudnn {

// A static Graph with the tensors of its inputs and results.
struct RandomCase {
  Graph graph;
  Tensors tensors;
  // The type that f32 may be lowered to with no more error than rounding.
  DType lowest = DType::kF32;

  std::vector<HostTensor> Inputs() const;
  std::vector<HostTensor> Outputs() const;
};

// A well-conditioned case (growth.h) of 4 to 24 Nodes, equal for equal arguments and compiler.
//   choices  bytes that decide before random numbers do, from a fuzzer
RandomCase MakeRandomCase(uint64_t seed, DType lowest = DType::kF32, std::string_view choices = {});

// The smallest part of `failing` that still fails: leaves out Nodes one by one; the result of a
// removed Node becomes an input with the same tensor.
RandomCase Shrink(RandomCase failing, absl::FunctionRef<bool(const RandomCase&)> fails);

}  // namespace onnx_cudnn
