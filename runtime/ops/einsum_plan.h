// How Einsum is computed: which two operands are multiplied when, each time as a stack of matrix
// products.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

struct EinsumEquation {
  std::vector<std::string> terms;  // a label for each axis of each operand
  std::string output;
};

// An ellipsis becomes digits, the same ones from the last axis on in every term.
//   errors  InvalidArgument: `text` is not an equation of operands of these ranks
absl::StatusOr<EinsumEquation> EinsumEquationOf(const std::string& text,
                                                absl::Span<const size_t> ranks);

// How tensors a and b become c[batch, m, n] = Σ_k a[batch, m, k] · b[batch, k, n]: the labels of
// both that are needed further, of a alone, of b alone, and of both that end here.
struct EinsumContraction {
  int a = 0, b = 0;
  std::string batch, m, n, k;
  bool packs_a = false, packs_b = false;  // no strides make it matrices: it is copied before

  std::string result() const { return batch + m + n; }
};

// Tensors are dense and row-major over their labels, of which each has another extent than 1 and
// stands once: first the operands, of which diagonals are taken and labels summed that no other
// operand and not the output has; then what each contraction makes of two of those before it.
struct EinsumPlan {
  EinsumEquation equation;
  std::map<char, int64_t> extents;
  std::vector<std::string> operands;  // the labels along which each has more than one element
  std::vector<std::string> tensors;
  std::vector<EinsumContraction> contractions;

  // Saturates at 2^46 elements, so that sums of them cannot overflow.
  int64_t Elements(std::string_view labels) const;
  // The distance of two elements of a tensor of `labels` that differ in `group`, some of the labels
  // that are neighbours in this order.
  int64_t Stride(std::string_view labels, std::string_view group) const;
};

// Of operands of `dims`. At every step the two tensors are contracted whose result is smallest next
// to them: size(result) - size(a) - size(b), of equal ones those that take fewer products; tensors
// without a common label come last.
//   errors  InvalidArgument: a label has two extents other than 1
//   cost    O(n³) for n operands; more than 32 are contracted from left to right
//   source  the greedy order of opt_einsum, Smith and Gray, JOSS 3(26), 753, 2018
absl::StatusOr<EinsumPlan> PlanEinsum(EinsumEquation equation, const std::vector<Dims>& dims);

}  // namespace onnx_cudnn
