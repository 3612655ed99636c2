// The boundary between C and C++: statuses, messages, and structs of other versions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "onnx_cudnn.h"
#include "onnx_cudnn/result.h"
#include "runtime/base/exception.h"
#include "runtime/base/result_status.h"

namespace onnx_cudnn::c_api {

// Remembers the message of an error for onnx_cudnn_last_error, and returns its number.
onnx_cudnn_status Report(const absl::Status& status);
// The same where memory for a message is missing.
onnx_cudnn_status ReportOutOfMemory() noexcept;

// Runs the body of a function of the C API, which returns an absl::Status.
template <typename Body>
onnx_cudnn_status AtBorder(Body body) noexcept {
  try {
    try {
      return Report(body());
    } catch (...) {
      return Report(StatusOfException());
    }
  } catch (...) {
    return ReportOutOfMemory();
  }
}

// InvalidArgument if the argument is NULL.
absl::Status CheckGiven(const void* argument, std::string_view name);
// The same for the place of a result, which becomes NULL until there is one.
template <typename T>
absl::Status ClearResult(T** result, std::string_view name) {
  if (absl::Status status = CheckGiven(result, name); !status.ok()) return status;
  *result = nullptr;
  return absl::OkStatus();
}

// InvalidArgument if a struct's size cannot be one of any version.
absl::Status CheckStructSize(size_t struct_size, std::string_view name);

// `fields` with what the caller's struct gives. The caller's header may be older (its fields end
// earlier) or newer (InvalidArgument unless the bytes that are unknown here are zero).
//   given   null: nothing
//   fields  the defaults
template <typename Struct>
absl::StatusOr<Struct> ReadStruct(const Struct* given, std::string_view name, Struct fields) {
  if (given == nullptr) return fields;
  const size_t size = given->struct_size;
  if (absl::Status status = CheckStructSize(size, name); !status.ok()) return status;
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] == std::byte{0}) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: a field at byte %d is set, which this version of the library (C API %d, %d bytes) "
        "does not know",
        name, i, ONNX_CUDNN_C_API_VERSION, sizeof(Struct)));
  }
  std::memcpy(static_cast<void*>(&fields), given, std::min(size, sizeof(Struct)));
  return fields;
}

// Writes as much of `fields` as the caller's struct has room for; bytes that are unknown here
// become zero. struct_size stays.
template <typename Struct>
absl::Status WriteStruct(const Struct& fields, std::string_view name, Struct* caller) {
  if (absl::Status status = CheckGiven(caller, name); !status.ok()) return status;
  const size_t size = caller->struct_size;
  if (absl::Status status = CheckStructSize(size, name); !status.ok()) return status;
  std::memset(static_cast<void*>(caller), 0, size);
  std::memcpy(static_cast<void*>(caller), &fields, std::min(size, sizeof(Struct)));
  caller->struct_size = size;
  return absl::OkStatus();
}

}  // namespace onnx_cudnn::c_api
