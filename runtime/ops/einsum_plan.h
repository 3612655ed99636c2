// Plans an Einsum: the order in which pairs of operands are multiplied, each pair as a batch of
// matrix products.
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
//   errors  InvalidArgument: `text` is not an equation for operands of these ranks
absl::StatusOr<EinsumEquation> EinsumEquationOf(const std::string& text,
                                                absl::Span<const size_t> ranks);

// How tensors a and b become c[batch, m, n] = Σ_k a[batch, m, k] · b[batch, k, n]: the labels of
// both that are needed later, of a only, of b only, and of both that are summed here.
struct EinsumContraction {
  int a = 0, b = 0;
  std::string batch, m, n, k;
  // No strides express the operand as matrices: it is copied first.
  bool packs_a = false, packs_b = false;

  std::string result() const { return batch + m + n; }
};

// Tensors are dense and row-major over their labels; each label is unique and has an extent other
// than 1. First come the operands, after taking diagonals and summing labels that neither another
// operand nor the output has; then the result of each contraction of two earlier tensors.
struct EinsumPlan {
  EinsumEquation equation;
  std::map<char, int64_t> extents;
  std::vector<std::string> operands;  // labels of the axes with more than one element
  std::vector<std::string> tensors;
  std::vector<EinsumContraction> contractions;

  // The number of elements, at most 2^46, so that sums cannot overflow.
  int64_t Elements(std::string_view labels) const;
  // The stride, in a tensor of `labels`, of the combined index over `group`, a contiguous run of
  // those labels.
  int64_t Stride(std::string_view labels, std::string_view group) const;
};

// Plans the contraction of operands of `dims`. Every step contracts the two tensors with the
// smallest size(result) - size(a) - size(b), among equal ones the pair with fewer products; tensors
// without a common label come last.
//   errors  InvalidArgument: a label has two extents other than 1
//   cost    O(n³) for n operands; more than 32 are contracted from left to right
//   source  the greedy order of opt_einsum, Smith and Gray, JOSS 3(26), 753, 2018
absl::StatusOr<EinsumPlan> PlanEinsum(EinsumEquation equation, const std::vector<Dims>& dims);

}  // namespace onnx_cudnn
