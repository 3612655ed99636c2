// Reads operands that hold shapes, axes and indices.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Types that are moved as whole bytes, and packed types (which move only as whole tensors).
inline constexpr DTypeSet kMovableTypes =
    kFixedSizeTypes | DTypeSet{DType::kC64,        DType::kC128,   DType::kF8E4M3FN,
                               DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                               DType::kF8E8M0};
inline constexpr DTypeSet kPackedTypes =
    kMovableTypes | DTypeSet{DType::kU4, DType::kI4, DType::kF4E2M1, DType::kU2, DType::kI2};

inline int ElementBytes(DType dtype) { return BitsOf(dtype) / 8; }  // for one of kMovableTypes

// The elements of an i32 or i64 operand.
std::vector<int64_t> IntsOf(const TensorRef& tensor);
// The only element of an i32 or i64 operand; InvalidArgument if there is not exactly one.
absl::StatusOr<int64_t> ScalarOf(const TensorRef& tensor, std::string_view what);

// The same for a constant input; `otherwise` if the input is not such a constant.
int64_t ConstantOr(const Node& node, int input, int64_t otherwise);

// `index` counted from the front; InvalidArgument names it, the extent and the axis if it is out of
// range.
absl::StatusOr<int64_t> CheckedIndex(int64_t index, int64_t extent, int64_t axis);
// The same for every element of an i32 or i64 operand.
absl::StatusOr<std::vector<int64_t>> CheckedIndices(const TensorRef& indices, int64_t extent,
                                                    int64_t axis);

// The axes that an optional operand lists, counted from the front; all axes of `rank` if it is
// absent. InvalidArgument: one is out of range or repeated, or their number is not `count`.
absl::StatusOr<std::vector<int64_t>> AxesOf(const ReferenceArgs& args, size_t input, int64_t rank,
                                            int64_t count);

}  // namespace onnx_cudnn
