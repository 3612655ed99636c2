#include <algorithm>
#include <complex>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/base/thread_pool.h"
#include "runtime/ops/data_dependent.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kChunk = 1 << 14;  // elements that a thread counts or writes at once

// NaN is not zero, an empty string is.
template <typename E>
bool IsNonZero(const E& element) {
  if constexpr (std::is_same_v<E, Bool>) {
    return element.byte != 0;
  } else if constexpr (kIsHalf<E>) {
    return (element.bits & 0x7fff) != 0;  // all bits but the sign
  } else if constexpr (std::is_same_v<E, std::string>) {
    return !element.empty();
  } else {
    return element != E{};
  }
}

// The index of element `number` in row-major order.
std::vector<int64_t> IndexOf(int64_t number, const Dims& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; number /= dims[axis]) {
    index[axis] = number % dims[axis];
  }
  return index;
}

// Writes the indices of the non-zero elements among [begin, end) to the columns of
// `to`[rank, columns] from `at` on. Those of a row are collected first: without a branch per
// element, which no processor predicts.
template <typename E>
void WriteIndices(const E* x, const Dims& dims, int64_t begin, int64_t end, int64_t* to,
                  int64_t columns, int64_t at) {
  const size_t inner = dims.size() - 1;
  std::vector<int64_t> index = IndexOf(begin, dims);
  std::vector<int64_t> found(std::min(end - begin, dims[inner]));
  for (int64_t row = begin; row < end;) {
    const int64_t row_end = std::min(end, row + dims[inner] - index[inner]);
    int64_t count = 0;
    for (int64_t i = row; i < row_end; ++i) {
      found[count] = index[inner] + i - row;
      count += IsNonZero(x[i]) ? 1 : 0;
    }
    for (size_t axis = 0; axis < inner; ++axis) {
      std::fill_n(to + axis * columns + at, count, index[axis]);
    }
    std::copy_n(found.data(), count, to + inner * columns + at);
    at += count;
    row = row_end;
    index[inner] = 0;
    for (size_t axis = inner; axis-- > 0 && ++index[axis] == dims[axis];) index[axis] = 0;
  }
}

template <typename E>
HostTensor IndicesOf(const E* x, const Dims& dims) {
  const int64_t elements = ElementsOf(dims), chunks = (elements + kChunk - 1) / kChunk;
  const auto end_of = [&](int64_t chunk) { return std::min(elements, (chunk + 1) * kChunk); };
  std::vector<int64_t> columns(chunks + 1, 0);  // non-zero elements before each chunk
  ThreadPool::Default().ParallelFor(chunks, 1, [&](int64_t chunk, int64_t last) {
    for (; chunk < last; ++chunk) {
      columns[chunk + 1] = std::count_if(x + chunk * kChunk, x + end_of(chunk), IsNonZero<E>);
    }
  });
  std::partial_sum(columns.begin(), columns.end(), columns.begin());
  const auto rank = static_cast<int64_t>(dims.size());
  HostTensor indices = HostTensor::Allocate(DType::kI64, {rank, columns.back()});
  if (rank == 0) return indices;
  auto* to = static_cast<int64_t*>(indices.mutable_raw());
  ThreadPool::Default().ParallelFor(chunks, 1, [&](int64_t chunk, int64_t last) {
    for (; chunk < last; ++chunk) {
      WriteIndices(x, dims, chunk * kChunk, end_of(chunk), to, columns.back(), columns[chunk]);
    }
  });
  return indices;
}

}  // namespace

// Of a scalar the result is [0, N]: an index into no dims has no coordinates.
absl::StatusOr<HostTensor> ComputeNonZero(const Node&, absl::Span<const HostTensor> inputs) {
  const HostTensor& x = inputs[0];
  const auto indices = [&](const auto* elements) { return IndicesOf(elements, x.dims()); };
  switch (x.dtype()) {
    case DType::kString:
      return indices(x.strings().data());
    case DType::kC64:
      return indices(static_cast<const std::complex<float>*>(x.raw()));
    case DType::kC128:
      return indices(static_cast<const std::complex<double>*>(x.raw()));
    default:
      return VisitElementType(x.dtype(), [&](auto element) {
        return indices(static_cast<const decltype(element)*>(x.raw()));
      });
  }
}

std::optional<int64_t> BoundOfNonZero(const Node& node) {
  const Value& x = node.input(0);
  if (x.rank() == 0) return std::nullopt;  // the output has no elements that tell their number
  return x.rank() * x.elements();
}

OpDef NonZeroOp() {
  return {.types = kFixedSizeTypes | DTypeSet{DType::kC64, DType::kC128, DType::kString},
          .evaluate = EvaluateDataDependent<ComputeNonZero>};
}

}  // namespace onnx_cudnn
