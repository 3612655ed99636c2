#include "runtime/kernels/cuda/common/tensor_maps.h"

#include <cuda.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/driver_function.h"

namespace onnx_cudnn {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

CUtensorMapDataType TypeOf(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorMap::Element::kBF16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TensorMap::Element::kF32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case TensorMap::Element::kTf32:
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

// Arguments that both driver functions share.
struct Extents {
  cuuint64_t dims[5], strides[4];
  cuuint32_t steps[5] = {1, 1, 1, 1, 1};  // element strides, one per dim
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;

  explicit Extents(const TensorMap& map)
      : swizzle(map.swizzles_128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE),
        promotion(map.promotes_256 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                   : CU_TENSOR_MAP_L2_PROMOTION_NONE) {
    std::copy_n(map.dims, 5, dims);
    std::copy_n(map.strides, 4, strides);
  }
};

absl::Status CheckResult(const char* name, CUresult result) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(name, ": error ", static_cast<int>(result)));
}

absl::Status EncodeBoxes(const TensorMap& map, void* address, CUtensorMap& encoded) {
  constexpr char kName[] = "cuTensorMapEncodeTiled";
  ASSIGN_OR_RETURN(const auto encode, DriverFunction<decltype(&cuTensorMapEncodeTiled)>(kName));
  const Extents e(map);
  return CheckResult(
      kName, encode(&encoded, TypeOf(map.element), static_cast<cuuint32_t>(map.rank), address,
                    e.dims, e.strides, map.box, e.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, e.swizzle,
                    e.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

absl::Status EncodeIm2col(const TensorMap& map, void* address, CUtensorMap& encoded) {
  constexpr char kName[] = "cuTensorMapEncodeIm2col";
  ASSIGN_OR_RETURN(const auto encode, DriverFunction<decltype(&cuTensorMapEncodeIm2col)>(kName));
  Extents e(map);
  std::copy_n(map.im2col->strides, 2, e.steps + 1);
  return CheckResult(kName, encode(&encoded, TypeOf(map.element), static_cast<cuuint32_t>(map.rank),
                                   address, e.dims, e.strides, map.im2col->first, map.im2col->last,
                                   map.box[0], map.box[1], e.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   e.swizzle, e.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

}  // namespace

absl::StatusOr<TensorMapBytes> EncodeTensorMap(const TensorMap& map, void* address) {
  alignas(64) CUtensorMap encoded;
  RETURN_IF_ERROR(map.im2col ? EncodeIm2col(map, address, encoded)
                             : EncodeBoxes(map, address, encoded));
  TensorMapBytes bytes;
  std::memcpy(&bytes, &encoded, sizeof(bytes));
  return bytes;
}

}  // namespace onnx_cudnn
