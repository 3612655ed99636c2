// A Candidate of the gemm rules as a cuBLASLt problem.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// A pointer of a launch.
struct LtOperand {
  enum class Kind : uint8_t { kNone, kInput, kConstant };
  Kind kind = Kind::kNone;
  int index = 0;  // position among the Step's inputs or constants
  bool operator==(const LtOperand&) const = default;
};

// Column-major, as in cuBLASLt: `columns` columns of `rows` elements, `leading` elements apart.
// Matrices of a batch are `batch_stride` elements apart; 0: the batch shares one matrix.
struct LtMatrix {
  int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  bool operator==(const LtMatrix&) const = default;
};

// D = activation(alpha · op(A) · op(B) + beta · C + bias), where op is the identity or the
// transpose. A row-major matrix is the transpose of the column-major one, so the row-major y = x ·
// w is Dᵀ = wᵀ · xᵀ: A is the right factor, B the left one, and the bias, one element per column of
// y, is one per row of D, as cuBLASLt adds it.
struct LtProblem {
  enum class Activation : uint8_t { kNone, kRelu, kGelu };

  DType dtype = DType::kUndefined;  // of A, B, C, D and the bias; sums are f32
  LtOperand a, b, c, bias;
  bool transposes_a = false, transposes_b = false;
  LtMatrix a_matrix, b_matrix, d_matrix;  // C has the layout of D
  int64_t batch = 1;
  float alpha = 1, beta = 0;
  Activation activation = Activation::kNone;
  std::vector<Derived> constants;
};

// Lowers a Candidate that the rules (runtime/gemm/gemm_rules.h) accept; its output is D.
//   errors  Unimplemented: extents beyond what cuBLASLt can express (a refusal)
absl::StatusOr<LtProblem> LowerProduct(const Candidate& candidate);

}  // namespace onnx_cudnn
