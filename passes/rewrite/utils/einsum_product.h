// The product of two operands of an Einsum as one MatMul or Mul between Transposes and Reshapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/rewrite/utils/labeled_axes.h"

namespace onnx_cudnn {

// Operands are dense over their labels, each of which occurs once.
struct EinsumFactor {
  std::string labels;
  bool is_constant = false;  // what moves its bytes is folded
};

struct EinsumProduct {
  std::string op;             // MatMul or Mul
  bool swaps = false;         // b is the first operand
  std::vector<Axes> a, b;     // the forms of the operands, in order
  Axes product;               // the axes of what `op` gives
  std::vector<Axes> results;  // the forms that follow it
};

// The product that moves the fewest bytes, and among those the one with the fewest Nodes.
//   needed   the labels of the result: every label that only one factor has, and those of both that
//            are not summed here
//   output   `needed` in the order that the result must have; "": any
//   returns  nullopt: a Reshape would need numbers for dims
std::optional<EinsumProduct> PlanProduct(const EinsumFactor& a, const EinsumFactor& b,
                                         std::string_view needed, std::string_view output,
                                         const Extents& extents);

}  // namespace onnx_cudnn
