// Values between Programs: tensors in host or device memory, sequences, optionals and maps of them.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/model_value.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/graph/types.h"
#include "runtime/session/session_device.h"

namespace onnx_cudnn {

// The tensors of a Session's Runs. Thread-safe.
class ValueMemory {
 public:
  explicit ValueMemory(const SessionDevice& device) : device_(device) {}

  // Uninitialized. ResourceExhausted: no memory.
  absl::StatusOr<Tensor> Allocate(DType dtype, const Dims& dims, Space space) const;
  // The bytes of a tensor in host memory are shared, others are copied.
  absl::StatusOr<HostTensor> ToHost(const Tensor& tensor) const;
  // Tensors of equal dtype and dims joined along a new axis 0.
  //   errors  InvalidArgument: their dims differ
  absl::StatusOr<Tensor> Stack(absl::Span<const Tensor> tensors) const;
  // The numbers of `from` whose indices `dims` have too, in their places among those of `dims`, and
  // zeros in the others; in new memory of the host or the device as those of `from`.
  //   callers_stream  device memory is read after the work enqueued there; may be null
  absl::StatusOr<Tensor> Resize(const Tensor& from, const Dims& dims,
                                void* callers_stream = nullptr) const;
  // `tensor`, or a copy on the device if it is in host memory that the device does not read, and
  // too large to be a size.
  absl::StatusOr<Tensor> ToDevice(const Tensor& tensor) const;
  // Copies numbers to memory of the host or the device.
  absl::Status CopyTo(const Tensor& from, const TensorView& to) const;
  // The same elements in host memory of its own, whoever owns those of `value`; in sequences,
  // optionals and maps too.
  absl::StatusOr<ModelValue> Copy(const ModelValue& value) const;

 private:
  absl::Status CopyBytes(const Tensor& from, std::byte* to, Space space) const;

  const SessionDevice& device_;
};

// Makes tensors from their parts.
struct TensorMaker {
  static Tensor Make(DType dtype, Dims dims, DeviceRef device, std::shared_ptr<void> data);
  static Tensor Of(const HostTensor& tensor);  // shares the bytes
  static Tensor Reshaped(const Tensor& tensor, Dims dims);
};

// The type of a value; kUnknown for the elements of an empty sequence or optional.
Type TypeOf(const ModelValue& value);

}  // namespace onnx_cudnn
