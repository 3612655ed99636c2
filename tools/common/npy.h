// NumPy's array files.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

using NamedTensors = std::map<std::string, HostTensor, std::less<>>;

// The array of a .npy file, of numbers or bool, little-endian; Fortran order becomes row-major.
//   errors  InvalidArgument: not a .npy file, or its size is not what its header says;
//   Unimplemented: another dtype
absl::StatusOr<HostTensor> ParseNpy(std::string_view bytes);

// The .npy file of `tensor`. Dtypes that NumPy lacks are written as what holds them: bf16 as f32.
// Unimplemented: strings, floats of 8 bits and packed types.
absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor);

absl::StatusOr<HostTensor> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, const HostTensor& tensor);
// The arrays of a .npz file by name.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path);

}  // namespace onnx_cudnn
