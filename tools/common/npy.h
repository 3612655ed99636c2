// NumPy's array files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

using NamedTensors = std::map<std::string, HostTensor, std::less<>>;

// Parses a .npy file of numbers or bool, little-endian; Fortran order becomes row-major.
//   errors  InvalidArgument: not a .npy file, or its size contradicts its header; Unimplemented:
//           another dtype
absl::StatusOr<HostTensor> ParseNpy(std::string_view bytes);

// Writes `tensor` as a .npy file. Dtypes that NumPy lacks are written as a wider one: bf16 as f32.
// Unimplemented: strings, 8-bit floats and packed types.
absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor);

absl::StatusOr<HostTensor> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, const HostTensor& tensor);
// One NAME.npy in `folder`, which is created, for each of `names`; NAME as in FileNamesOf. Returns
// their paths.
absl::StatusOr<std::vector<std::string>> WriteArrays(const std::string& folder,
                                                     const std::vector<std::string>& names,
                                                     const NamedTensors& tensors);
// The arrays of a .npz file by name.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path);
// Errors as for FormatNpy, and DataLoss: the file cannot be written.
absl::Status WriteNpz(const std::string& path, const NamedTensors& tensors);

}  // namespace onnx_cudnn
