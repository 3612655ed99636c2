// DLPack's tensors as ours, and the other way round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn::c_api {

using StringCopies = std::vector<std::unique_ptr<std::vector<std::string>>>;

// Views of the caller's tensors.
struct BorrowedTensors {
  std::vector<NamedView> views;
  StringCopies strings;  // to which the views of string tensors point
};

enum class BorrowedFor : uint8_t { kReading, kWriting };

// One view per tensor.
//   names   null: by position
//   what    "input" or "output", for messages
//   errors  InvalidArgument: null pointers, a type or device that is not ours. Unimplemented:
//           strings for writing
absl::StatusOr<BorrowedTensors> Borrow(const char* const* names, const DLTensor* const* tensors,
                                       size_t count, std::string_view what, BorrowedFor use);

struct CallDeleter {
  void operator()(DLManagedTensorVersioned* managed) const { managed->deleter(managed); }
};
using ManagedTensor = std::unique_ptr<DLManagedTensorVersioned, CallDeleter>;

// A tensor with its owner, for a consumer of DLPack.
ManagedTensor Manage(Tensor tensor);
// The tensor in what Manage made; null for others.
const Tensor* TensorIn(const DLManagedTensorVersioned& managed);

}  // namespace onnx_cudnn::c_api
