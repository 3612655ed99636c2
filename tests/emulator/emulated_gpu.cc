#include "tests/emulator/emulated_gpu.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/emulator/emulator.h"
#include "tests/emulator/tensor_map.h"

namespace onnx_cudnn {
namespace {

TensorMap::Element ElementOf(CUtensorMapDataType type) {
  if (type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32) return TensorMap::Element::kTf32;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? TensorMap::Element::kF32
                                                 : TensorMap::Element::kF16;
}

CUresult EncodeMap(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
                   const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                   const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  TensorMap map = {.element = ElementOf(type),
                   .rank = static_cast<int>(rank),
                   .swizzles_128 = swizzle == CU_TENSOR_MAP_SWIZZLE_128B};
  std::copy_n(dims, rank, map.dims);
  std::copy_n(strides, rank - 1, map.strides);
  std::copy_n(box, rank, map.box);
  const TensorMapBytes bytes = emulator::Encode(map, address);
  std::memcpy(out, &bytes, sizeof(bytes));
  return CUDA_SUCCESS;
}

CUresult EncodeIm2col(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* dims, const cuuint64_t* strides, const int* first,
                      const int* last, cuuint32_t channels, cuuint32_t places,
                      const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  TensorMap map = {.element = ElementOf(type),
                   .rank = static_cast<int>(rank),
                   .box = {channels, places},
                   .swizzles_128 = swizzle == CU_TENSOR_MAP_SWIZZLE_128B};
  std::copy_n(dims, rank, map.dims);
  std::copy_n(strides, rank - 1, map.strides);
  map.im2col = {
      .first = {first[0], first[1]}, .last = {last[0], last[1]}, .strides = {steps[1], steps[2]}};
  const TensorMapBytes bytes = emulator::Encode(map, address);
  std::memcpy(out, &bytes, sizeof(bytes));
  return CUDA_SUCCESS;
}

void Emulate(const cudaLaunchConfig_t& config, const void* function, const std::byte* parameter) {
  const auto extent = [](const dim3& d) { return LaunchShape::Extent{d.x, d.y, d.z}; };
  LaunchShape shape = {.grid = extent(config.gridDim),
                       .block = extent(config.blockDim),
                       .shared_bytes = static_cast<int>(config.dynamicSmemBytes)};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    shape.cluster = static_cast<int>(config.attrs[i].val.clusterDim.x);
  }
  EXPECT_EQ(emulator::Run(function, shape, parameter, 4096), "");
}

}  // namespace

FakeCudaOptions EmulatedGpu() {
  setenv("ONNX_CUDNN_LIBCUDNN", "/nowhere/libcudnn.so.9", 1);
  setenv("ONNX_CUDNN_LIBCUBLASLT", "/nowhere/libcublasLt.so.13", 1);
  return {.run_kernel = Emulate,
          .encode_tensor_map = reinterpret_cast<void*>(EncodeMap),
          .encode_im2col = reinterpret_cast<void*>(EncodeIm2col)};
}

}  // namespace onnx_cudnn
