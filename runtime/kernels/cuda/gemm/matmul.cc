#include "runtime/kernels/cuda/gemm/matmul.h"

#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/quantized_node.h"

namespace onnx_cudnn {
namespace {

// The batch dims of a matrix or a vector.
Dims StackOf(const Dims& dims) {
  return dims.size() < 2 ? Dims() : Dims(dims.begin(), dims.end() - 2);
}

// The strides of a dense batch of matrices of `size` elements, broadcast to the rank of the result.
void StackStrides(const Dims& stack, int64_t size, int rank, int64_t* strides) {
  std::fill_n(strides, rank, 0);
  const int missing = rank - static_cast<int>(stack.size());
  for (int i = static_cast<int>(stack.size()) - 1; i >= 0; --i) {
    if (stack[i] > 1) strides[i + missing] = size;
    size *= stack[i];
  }
}

// Reads a MatMul or a quantized MatMul; inference has checked the dims.
void ReadMatMul(const Value& a, const Value& b, MatMulParameters& p) {
  const Dims left = a.dims(), right = b.dims();
  p.k = left.back();
  p.m = left.size() < 2 ? 1 : left[left.size() - 2];
  p.n = right.size() < 2 ? 1 : right.back();
  p.a_row = p.k, p.a_column = 1;
  p.b_row = p.n, p.b_column = 1;
  const Dims a_stack = StackOf(left), b_stack = StackOf(right);
  p.batch_rank = static_cast<int>(std::max(a_stack.size(), b_stack.size()));
  for (int i = 0; i < p.batch_rank; ++i) {
    const auto extent = [&](const Dims& stack) {
      const int missing = p.batch_rank - static_cast<int>(stack.size());
      return i < missing ? int64_t{1} : stack[i - missing];
    };
    const int64_t own = extent(a_stack);
    p.batch_dims[i] = own == 1 ? extent(b_stack) : own;
  }
  StackStrides(a_stack, p.m * p.k, p.batch_rank, p.a_batch);
  StackStrides(b_stack, p.k * p.n, p.batch_rank, p.b_batch);
}

void ReadGemm(const Node& node, MatMulParameters& p) {
  const bool a_transposed = node.attrs().Int("transA", 0) != 0;
  const bool b_transposed = node.attrs().Int("transB", 0) != 0;
  const Dims a = node.input(0).dims(), b = node.input(1).dims();
  p.m = a[a_transposed ? 1 : 0], p.k = a[a_transposed ? 0 : 1], p.n = b[b_transposed ? 0 : 1];
  p.a_row = a_transposed ? 1 : p.k, p.a_column = a_transposed ? p.m : 1;
  p.b_row = b_transposed ? 1 : p.n, p.b_column = b_transposed ? p.k : 1;
  p.alpha = node.attrs().Float("alpha", 1), p.beta = node.attrs().Float("beta", 1);
  if (!node.has_input(2)) return;
  const Dims c = node.input(2).dims();
  const int64_t rows = c.size() < 2 ? 1 : c[0], columns = c.empty() ? 1 : c.back();
  p.c_row = rows == 1 ? 0 : columns;
  p.c_column = columns == 1 ? 0 : 1;
}

}  // namespace

// Matrix products, see ../matmul.cc.
absl::StatusOr<KernelCode> CompileMatMul(const KernelRequest& request) {
  const Node& node = request.unit.node();
  const bool quantized = IsQuantizedProduct(node);
  Operands operands(request);
  KernelCode code;
  const int64_t results = node.output(0).elements();
  if (results == 0) return code;
  const Value& right = quantized ? RightOf(node) : node.input(1);
  MatMulParameters p{.alpha = 1, .beta = 1};
  node.op() == "Gemm" ? ReadGemm(node, p) : ReadMatMul(node.input(0), right, p);
  if (quantized) {
    ASSIGN_OR_RETURN(p.quant, QuantParametersOf(node, operands, p.m, p.n));
  }
  p.row_tiles = (p.m + kMatMulTile - 1) / kMatMulTile;
  p.tiles = p.row_tiles * ((p.n + kMatMulTile - 1) / kMatMulTile);
  const int64_t blocks = results / (p.m * p.n) * p.tiles;
  if (blocks > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(absl::StrCat(blocks, " tiles are more than a grid has"));
  }
  const LaunchShape shape{.grid = {static_cast<unsigned>(blocks)}, .block = {kMatMulThreads}};
  const DType y = node.output(0).dtype();
  p.a_is_signed = node.input(0).dtype() == DType::kI8;
  p.b_is_signed = right.dtype() == DType::kI8;
  p.y_dtype = y;
  const bool is_narrow = y == DType::kF32 || y == DType::kF16 || y == DType::kBF16;
  KernelCall call = quantized   ? ByteMatMulCall(shape, p)
                    : is_narrow ? MatMulCall(y, shape, p)
                                : WideMatMulCall(y, shape, p);
  call.Bind(offsetof(MatMulParameters, a), operands.Of(node.input(0)).slot)
      .Bind(offsetof(MatMulParameters, b), operands.Of(right).slot)
      .Bind(offsetof(MatMulParameters, y), operands.Of(node.output(0)).slot);
  if (quantized) {
    BindQuantParameters(node, operands, call, offsetof(MatMulParameters, quant));
  } else if (node.op() == "Gemm" && node.has_input(2)) {
    call.Bind(offsetof(MatMulParameters, c), operands.Of(node.input(2)).slot);
  }
  code.calls.push_back(std::move(call));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
