// Types of Values: dtype, dims that may be symbolic, and ONNX's sequences, optionals and maps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/dtype.h"

namespace onnx_cudnn {

// A set of dtypes, such as those that a reference supports.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {  // NOLINT: reads as a list
    for (DType d : dtypes) bits_ |= uint32_t{1} << static_cast<int>(d);
  }
  constexpr bool Has(DType d) const { return (bits_ >> static_cast<int>(d)) & 1; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }

 private:
  uint32_t bits_ = 0;
};
inline constexpr DTypeSet kFloatTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
inline constexpr DTypeSet kIntegerTypes = {DType::kU8,  DType::kI8,  DType::kU16, DType::kI16,
                                           DType::kI32, DType::kI64, DType::kU32, DType::kU64};
inline constexpr DTypeSet kNumberTypes = kFloatTypes | kIntegerTypes;
inline constexpr DTypeSet kFixedSizeTypes = kNumberTypes | DTypeSet{DType::kBool};  // whole bytes

using Dims = std::vector<int64_t>;

int64_t ElementsOf(absl::Span<const int64_t> dims);  // product; dims are checked at import
int64_t BytesOf(DType dtype, int64_t elements);      // packed, rounded up to whole bytes
// The same, but overflow and negative dims are InvalidArgument: for dims from a file or a caller.
absl::StatusOr<int64_t> CheckedBytes(DType dtype, absl::Span<const int64_t> dims);

// An extent: a number, a symbol ("N"), or unknown.
struct Dim {
  int64_t value = -1;  // < 0: not a number
  std::string symbol;  // empty: unknown
  // Inference names unknown extents "?0", "?1", …, so that equal ones stay equal; they are printed
  // and written as unknown.
  bool made_up() const { return symbol.starts_with('?'); }
  bool operator==(const Dim&) const = default;
};

struct Type {
  enum class Kind : uint8_t { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap };

  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;      // tensor: of its elements; map: of its keys
  bool ranked = false;                  // tensor: the rank is known
  std::vector<Dim> dims;                // tensor
  std::shared_ptr<const Type> element;  // sequence, optional, map: the type that it holds

  static Type Tensor(DType dtype, absl::Span<const int64_t> dims);
  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_known() const;   // neither it nor the type that it holds is kUnknown
  bool is_static() const;  // a tensor with known dtype and dims
  bool operator==(const Type& other) const;
};

std::string ToString(
    const Type& type);  // "f32[N,3,224,224]", "i64[]", "f32[?]*" where unranked is "f32"
std::string ToString(absl::Span<const int64_t> dims);  // "[1,3,224,224]"

}  // namespace onnx_cudnn
