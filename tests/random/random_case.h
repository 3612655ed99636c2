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
  DType lowest = DType::kF32;  // what f32 may be lowered to without more than rounding

  std::vector<HostTensor> Inputs() const;
  std::vector<HostTensor> Outputs() const;
};

// A well-conditioned case (growth.h) of 4 to 24 Nodes, the same for equal arguments and one
// compiler.
//   choices  bytes that decide before random numbers do, those of a fuzzer
RandomCase MakeRandomCase(uint64_t seed, DType lowest = DType::kF32, std::string_view choices = {});

// A part of `failing` that fails too, of which no Node can be left out: what a Node that is left
// out made becomes an input with the tensor it had.
RandomCase Shrink(RandomCase failing, absl::FunctionRef<bool(const RandomCase&)> fails);

}  // namespace onnx_cudnn
