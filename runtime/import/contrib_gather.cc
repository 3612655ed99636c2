// GatherBlockQuantized: rows of a quantized table, dequantized by blocks.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

struct Table {
  DType dtype;               // of its elements: i4, u4 or u8
  int64_t bits;              // of an element of a u8 table, several of which are a byte
  int64_t gather, quantize;  // axes
  int64_t block;
};

// Input `i`, data or zero points, as a constant with a byte per element, so that a Gather takes it.
//   last  its extent on the last axis, once unpacked
Value& Bytes(Expansion& x, int i, const Table& table, int64_t last) {
  Value& v = x.in(i);
  if (!v.is_constant()) {
    x.Refuse(absl::StrCat("input ", i, " is not a constant"));
    return v;
  }
  if (table.dtype != DType::kU8) {
    return x.Cast(v, table.dtype == DType::kI4 ? DType::kI8 : DType::kU8);
  }
  if (table.bits == 8) return v;
  // The first element is in the lowest bits, as ONNX packs them.
  const HostTensor& packed = v.constant();
  Dims dims = packed.dims();
  dims.back() *= 8 / table.bits;
  const HostTensor elements =
      HostTensor::Borrow(table.bits == 4 ? DType::kU4 : DType::kU2, std::move(dims), packed.raw(),
                         std::make_shared<const HostTensor>(packed));
  Value& bytes = x.Cast(x.Constant(elements), DType::kU8);
  const int rank = x.Rank(v);
  return x.Extent(bytes, rank - 1) == last ? bytes : x.Slice(bytes, rank - 1, 0, last);
}

// Zero points of a u8 table that has none: the middle of the range, in the shape of the scales.
Value& MiddleZeros(Expansion& x, const Table& table) {
  Value& scales = x.in(2);
  if (!scales.is_static()) {
    x.Refuse("input 2 has unknown dims");
    return scales;
  }
  HostTensor zeros = HostTensor::Allocate(DType::kU8, scales.dims());
  std::fill_n(zeros.mutable_data<uint8_t>().data(), zeros.elements(), 1 << (table.bits - 1));
  return x.Constant(std::move(zeros));
}

int64_t Axis(Expansion& x, const char* name, int64_t otherwise, int rank) {
  const int64_t given = x.Int(name, otherwise), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    x.FailInvalid(absl::StrCat("attribute \"", name, "\" = ", given, " for data of rank ", rank));
  }
  return axis;
}

Table TableOf(Expansion& x) {
  const int rank = x.Rank(x.in(0));
  Table table = {.dtype = x.in(0).dtype(),
                 .bits = x.Int("bits", 4),
                 .gather = Axis(x, "gather_axis", 0, rank),
                 .quantize = Axis(x, "quantize_axis", 1, rank),
                 .block = x.Int("block_size", 128)};
  const bool is_packed = table.dtype == DType::kI4 || table.dtype == DType::kU4;
  if (!is_packed && table.dtype != DType::kU8) {
    x.Refuse(absl::StrCat("data of ", NameOf(table.dtype), " is not implemented"));
  }
  if (table.gather == table.quantize) x.Refuse("gather_axis is quantize_axis");
  if (table.block < 16 || (table.bits != 2 && table.bits != 4 && table.bits != 8)) {
    x.FailInvalid(absl::StrCat("bits = ", table.bits, ", block_size = ", table.block));
  }
  if (table.dtype == DType::kU8 && table.bits < 8 && table.gather == rank - 1) {
    x.Refuse("gather_axis is the axis of packed elements");
  }
  return table;
}

}  // namespace

void ExpandGatherBlockQuantized(Expansion& x) {
  const Table table = TableOf(x);
  const int rank = x.Rank(x.in(0)), indices = x.Rank(x.in(1));
  if (!x.ok()) return;
  const int64_t per_byte = table.dtype == DType::kU8 ? 8 / table.bits : 1;
  const auto gathered = [&](Value& v) -> Value& {
    return x.Op("Gather", {&v, &x.in(1)}, {{"axis", table.gather}});
  };
  Value& data = gathered(Bytes(x, 0, table, x.Extent(x.in(0), rank - 1) * per_byte));
  std::vector<Value*> inputs = {&data, &gathered(x.in(2))};
  if (x.Has(3)) {
    inputs.push_back(&gathered(Bytes(x, 3, table, x.Extent(x.in(2), rank - 1))));
  } else if (table.dtype == DType::kU8) {
    inputs.push_back(&gathered(MiddleZeros(x, table)));
  }
  // The axes of the indices take the place of the gathered one.
  const int64_t axis =
      table.quantize > table.gather ? table.quantize + indices - 1 : table.quantize;
  x.Result(0, "DequantizeLinear", std::move(inputs), {{"axis", axis}, {"block_size", table.block}});
}

}  // namespace onnx_cudnn
