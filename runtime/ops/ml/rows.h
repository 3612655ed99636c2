// Operands of ai.onnx.ml as matrices, and numbers of attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/elements.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

inline constexpr DTypeSet kMlNumbers = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};

// X is [N,C], or [C] for one row.
struct MlRows {
  int64_t rows = 1, columns = 1;
};
inline MlRows RowsOf(absl::Span<const int64_t> dims) {
  if (dims.size() == 2) return {.rows = dims[0], .columns = dims[1]};
  return {.rows = 1, .columns = dims.empty() ? 1 : dims[0]};
}
// Whether input 0 is of rank 1 or 2.
Support CheckRows(const Node& node);

// The same, and whether `kModelOf` finds a model in the attributes of a static Node; its error says
// why not.
template <auto kModelOf>
Support CheckModelOfRows(const Node& node) {
  if (Support rows = CheckRows(node); !rows) return rows;
  if (!node.input(0).is_static()) return Support::Yes();
  const absl::Status status = kModelOf(node).status();
  return status.ok() ? Support::Yes() : Support::No(std::string(status.message()));
}

// An op of opset 1 on numbers.
OpDef MlOp(Support (*check)(const Node&), absl::Status (*reference)(const ReferenceArgs&),
           Cost (*cost)(const Node&));

// The elements of a number tensor as T, in `storage` if they have to be converted.
template <typename T>
absl::Span<const T> NumbersAs(const TensorRef& x, std::vector<T>& storage) {
  return VisitElementType(x.dtype, [&](auto tag) -> absl::Span<const T> {
    using E = decltype(tag);
    if constexpr (std::is_same_v<E, T>) {
      return x.as<T>();
    } else {
      storage.reserve(x.elements());
      for (const E& e : x.as<E>()) storage.push_back(Widen<T>(e));
      return storage;
    }
  });
}

// An attribute of numbers: floats, or a tensor of f16, f32 or f64 (`NAME_as_tensor` too). Empty if
// it is absent.
std::vector<double> NumbersOf(const Attrs& attrs, std::string_view name);
// A list of floats; empty if it is absent.
absl::Span<const float> FloatsOf(const Attrs& attrs, std::string_view name);
// A list of integers; empty if it is absent.
absl::Span<const int64_t> IntsOf(const Attrs& attrs, std::string_view name);

}  // namespace onnx_cudnn
