#include "runtime/graph/dlpack_types.h"

#include <cstdint>
#include <iterator>

namespace onnx_cudnn {
namespace {

constexpr int kStringBits = 128;

struct DTypeCode {
  DType dtype;
  int code, bits;
};
constexpr DTypeCode kDTypeCodes[] = {
    {DType::kF32, kDLFloat, 32},
    {DType::kU8, kDLUInt, 8},
    {DType::kI8, kDLInt, 8},
    {DType::kU16, kDLUInt, 16},
    {DType::kI16, kDLInt, 16},
    {DType::kI32, kDLInt, 32},
    {DType::kI64, kDLInt, 64},
    {DType::kString, kDLOpaqueHandle, kStringBits},
    {DType::kBool, kDLBool, 8},
    {DType::kF16, kDLFloat, 16},
    {DType::kF64, kDLFloat, 64},
    {DType::kU32, kDLUInt, 32},
    {DType::kU64, kDLUInt, 64},
    {DType::kC64, kDLComplex, 64},
    {DType::kC128, kDLComplex, 128},
    {DType::kBF16, kDLBfloat, 16},
    {DType::kF8E4M3FN, kDLFloat8_e4m3fn, 8},
    {DType::kF8E4M3FNUZ, kDLFloat8_e4m3fnuz, 8},
    {DType::kF8E5M2, kDLFloat8_e5m2, 8},
    {DType::kF8E5M2FNUZ, kDLFloat8_e5m2fnuz, 8},
    {DType::kU4, kDLUInt, 4},
    {DType::kI4, kDLInt, 4},
    {DType::kF4E2M1, kDLFloat4_e2m1fn, 4},
    {DType::kF8E8M0, kDLFloat8_e8m0fnu, 8},
    {DType::kU2, kDLUInt, 2},
    {DType::kI2, kDLInt, 2},
};
static_assert(std::size(kDTypeCodes) == kLastDType);

}  // namespace

DLDataType DLTypeOf(DType dtype) {
  for (const DTypeCode& row : kDTypeCodes) {
    if (row.dtype == dtype) {
      return {static_cast<uint8_t>(row.code), static_cast<uint8_t>(row.bits), 1};
    }
  }
  return {kDLOpaqueHandle, 0, 0};  // kUndefined, which no tensor has
}

std::optional<DType> DTypeOf(const DLDataType& type) {
  for (const DTypeCode& row : kDTypeCodes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace onnx_cudnn
