// The arguments with which the driver's tensor map functions are called.
#include "runtime/kernels/cuda/common/tensor_maps.h"

#include <cuda.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cuda/cuda_calls.h"

namespace onnx_cudnn {
namespace {

// The arguments of the last call of either function.
struct Told {
  CUtensorMapDataType type;
  std::vector<cuuint64_t> dims, strides;
  std::vector<int> first, last;
  std::vector<cuuint32_t> box, steps;
};
Told* told = nullptr;
CUresult answer = CUDA_SUCCESS;
std::string missing;  // what the driver does not have

CUresult EncodeTiled(CUtensorMap*, CUtensorMapDataType type, cuuint32_t rank, void*,
                     const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                     const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  *told = {.type = type,
           .dims = {dims, dims + rank},
           .strides = {strides, strides + rank - 1},
           .box = {box, box + rank},
           .steps = {steps, steps + rank}};
  return answer;
}

CUresult EncodeIm2col(CUtensorMap*, CUtensorMapDataType type, cuuint32_t rank, void*,
                      const cuuint64_t* dims, const cuuint64_t* strides, const int* first,
                      const int* last, cuuint32_t channels, cuuint32_t pixels,
                      const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  *told = {.type = type,
           .dims = {dims, dims + rank},
           .strides = {strides, strides + rank - 1},
           .first = {first, first + rank - 2},
           .last = {last, last + rank - 2},
           .box = {channels, pixels},
           .steps = {steps, steps + rank}};
  return answer;
}

cudaError_t FindFunction(const char* symbol, void** function, unsigned, unsigned long long,
                         cudaDriverEntryPointQueryResult* result) {
  const bool is_tiled = std::string_view(symbol) == "cuTensorMapEncodeTiled";
  *function =
      is_tiled ? reinterpret_cast<void*>(EncodeTiled) : reinterpret_cast<void*>(EncodeIm2col);
  *result = symbol == missing ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

const CudaCalls& Table() {
  static const CudaCalls table = [] {
    CudaCalls calls = {};
    calls.cudaGetDriverEntryPointByVersion = FindFunction;
    return calls;
  }();
  return table;
}

class TensorMapsTest : public testing::Test {
 protected:
  TensorMapsTest() : scope_(Table()) {
    told = &told_;
    answer = CUDA_SUCCESS;
    missing = "";
  }
  ~TensorMapsTest() override { told = nullptr; }

  TensorMap map_ = {.element = TensorMap::Element::kF16,
                    .rank = 4,
                    .dims = {64, 28, 20, 5},
                    .strides = {128, 3584, 71680},
                    .box = {64, 128, 1, 1},
                    .swizzles_128 = true};
  Told told_;

 private:
  ScopedCudaCalls scope_;
};

TEST_F(TensorMapsTest, Boxes) {
  ASSERT_TRUE(EncodeTensorMap(map_, nullptr).ok());
  EXPECT_EQ(told_.type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(told_.dims, (std::vector<cuuint64_t>{64, 28, 20, 5}));
  EXPECT_EQ(told_.strides, (std::vector<cuuint64_t>{128, 3584, 71680}));
  EXPECT_EQ(told_.box, (std::vector<cuuint32_t>{64, 128, 1, 1}));
  EXPECT_EQ(told_.steps, (std::vector<cuuint32_t>{1, 1, 1, 1}));
}

// Columns come before rows, as among the dims.
TEST_F(TensorMapsTest, Im2col) {
  map_.element = TensorMap::Element::kTf32;
  map_.im2col = {.first = {-1, -2}, .last = {-3, -4}, .strides = {2, 3}};
  ASSERT_TRUE(EncodeTensorMap(map_, nullptr).ok());
  EXPECT_EQ(told_.type, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  EXPECT_EQ(told_.dims, (std::vector<cuuint64_t>{64, 28, 20, 5}));
  EXPECT_EQ(told_.strides, (std::vector<cuuint64_t>{128, 3584, 71680}));
  EXPECT_EQ(told_.first, (std::vector<int>{-1, -2}));
  EXPECT_EQ(told_.last, (std::vector<int>{-3, -4}));
  EXPECT_EQ(told_.box, (std::vector<cuuint32_t>{64, 128}));
  EXPECT_EQ(told_.steps, (std::vector<cuuint32_t>{1, 2, 3, 1}));
}

TEST_F(TensorMapsTest, OldDrivers) {
  missing = "cuTensorMapEncodeIm2col";
  EXPECT_TRUE(EncodeTensorMap(map_, nullptr).ok());
  map_.im2col = {.first = {0, 0}, .last = {0, 0}, .strides = {1, 1}};
  EXPECT_EQ(EncodeTensorMap(map_, nullptr).status(),
            absl::FailedPreconditionError(
                "the driver has no cuTensorMapEncodeIm2col: install one of CUDA 12 or later"));
}

TEST_F(TensorMapsTest, WhatTheDriverRefuses) {
  answer = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(EncodeTensorMap(map_, nullptr).status(),
            absl::InternalError("cuTensorMapEncodeTiled: error 1"));
}

}  // namespace
}  // namespace onnx_cudnn
