#include "runtime/kernels/cuda/tensor_maps.h"

#include <cuda.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_calls.h"
#include "runtime/cuda/cuda_status.h"

namespace onnx_cudnn {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

using Encode = decltype(&cuTensorMapEncodeTiled);
constexpr unsigned kSinceDriver = 12000;  // of CUDA, as its API counts

absl::StatusOr<Encode> FindEncode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  RETURN_IF_ERROR(CUDA_STATUS(cudaGetDriverEntryPointByVersion, "cuTensorMapEncodeTiled", &function,
                              kSinceDriver, cudaEnableDefault, &result));
  if (result == cudaDriverEntryPointSuccess) return reinterpret_cast<Encode>(function);
  return absl::FailedPreconditionError(
      "the driver has no cuTensorMapEncodeTiled: install one of CUDA 12 or later");
}

CUtensorMapDataType TypeOf(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorMap::Element::kBF16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

}  // namespace

absl::StatusOr<TensorMapBytes> EncodeTensorMap(const TensorMap& map, void* address) {
  ASSIGN_OR_RETURN(const Encode encode, FindEncode());
  alignas(64) CUtensorMap encoded;
  const cuuint32_t element_strides[5] = {1, 1, 1, 1, 1};
  cuuint64_t dims[5], strides[4];
  std::copy_n(map.dims, 5, dims);
  std::copy_n(map.strides, 4, strides);
  const CUresult result = encode(
      &encoded, TypeOf(map.element), static_cast<cuuint32_t>(map.rank), address, dims, strides,
      map.box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
      map.swizzles_128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      map.promotes_256 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("cuTensorMapEncodeTiled: error ", static_cast<int>(result)));
  }
  TensorMapBytes bytes;
  std::memcpy(&bytes, &encoded, sizeof(bytes));
  return bytes;
}

}  // namespace onnx_cudnn
