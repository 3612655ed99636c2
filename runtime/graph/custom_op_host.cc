// The functions that users' op libraries call.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/exception.h"
#include "runtime/graph/custom_op.h"
#include "runtime/graph/dlpack_types.h"

namespace onnx_cudnn {
namespace {

constexpr int32_t kFailed = 1;
// Before this field a struct is of no version.
constexpr size_t kLeastOpBytes = offsetof(onnx_cudnn_op, launch);
constexpr size_t kMostOpBytes = 1 << 16;

absl::Status CheckVersion(const onnx_cudnn_op& op) {
  if (op.struct_size < kLeastOpBytes || op.struct_size > kMostOpBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected the size of onnx_cudnn_op in struct_size, found %d", op.struct_size));
  }
  if (op.api_version >= 1 && op.api_version <= ONNX_CUDNN_OP_API_VERSION) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("its api_version is %d, this onnx-cudnn takes 1 to %d", op.api_version,
                      ONNX_CUDNN_OP_API_VERSION));
}

// The op without the fields that its library does not know.
absl::StatusOr<CustomOp> ReadOp(const onnx_cudnn_op* given, const std::string& library) {
  if (given == nullptr) return absl::InvalidArgumentError("add_op: expected an op, found NULL");
  if (absl::Status status = CheckVersion(*given); !status.ok()) return status;
  onnx_cudnn_op op = {};
  std::memcpy(static_cast<void*>(&op), given, std::min(given->struct_size, sizeof(op)));
  if (op.domain == nullptr || op.name == nullptr || op.infer == nullptr || op.run == nullptr ||
      op.since_version < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("op %s.%s: expected domain, name, since_version >= 1, infer and run",
                        op.domain == nullptr ? "" : op.domain, op.name == nullptr ? "" : op.name));
  }
  CustomOp custom{.domain = op.domain, .name = op.name, .library = library, .functions = op};
  custom.functions.domain = custom.functions.name = nullptr;
  return custom;
}

int32_t AddOp(onnx_cudnn_op_registry* registry, const onnx_cudnn_op* op) {
  if (registry == nullptr) return kFailed;
  absl::StatusOr<CustomOp> read = ReadOp(op, registry->library);
  if (read.ok()) {
    registry->ops.push_back(*std::move(read));
  } else {
    registry->status.Update(read.status());
  }
  return registry->status.ok() ? 0 : kFailed;
}

int32_t Fail(onnx_cudnn_op_call* call, const char* message) {
  if (call != nullptr && message != nullptr) call->error = message;
  return kFailed;
}

// The attribute, or nullptr.
template <typename T>
const T* Get(const onnx_cudnn_op_call* call, const char* name) {
  return call == nullptr || name == nullptr ? nullptr : call->node->attrs().Get<T>(name);
}

template <typename T>
int32_t GetNumber(onnx_cudnn_op_call* call, const char* name, T* value) {
  const T* found = Get<T>(call, name);
  if (found == nullptr || value == nullptr) return 0;
  *value = *found;
  return 1;
}

int32_t GetString(onnx_cudnn_op_call* call, const char* name, const char** value, size_t* size) {
  const auto* found = Get<std::string>(call, name);
  if (found == nullptr || value == nullptr) return 0;
  *value = found->c_str();
  if (size != nullptr) *size = found->size();
  return 1;
}

template <typename T>
int32_t GetList(onnx_cudnn_op_call* call, const char* name, const T** values, size_t* count) {
  const auto* found = Get<std::vector<T>>(call, name);
  if (found == nullptr || values == nullptr || count == nullptr) return 0;
  *values = found->data();
  *count = found->size();
  return 1;
}

// nullptr if `infer` is not running, or the node has no such output.
Type* OutputOf(onnx_cudnn_op_call* call, size_t output) {
  return call == nullptr || output >= call->outputs.size() ? nullptr : &call->outputs[output];
}

int32_t SetOutput(onnx_cudnn_op_call* call, size_t output, DLDataType type, int32_t ndim,
                  const int64_t* shape) {
  Type* target = OutputOf(call, output);
  if (target == nullptr) return Fail(call, "set_output: there is no such output");
  const std::optional<DType> dtype = DTypeOf(type);
  if (!dtype.has_value()) return Fail(call, "set_output: ONNX has no such type");
  if (ndim < 0 || (ndim > 0 && shape == nullptr))
    return Fail(call, "set_output: there is no shape");
  *target = {.kind = Type::Kind::kTensor, .dtype = *dtype, .ranked = true};
  for (int32_t i = 0; i < ndim; ++i) {
    target->dims.push_back({.value = std::max<int64_t>(shape[i], -1)});
  }
  return 0;
}

int32_t SetOutputLikeInput(onnx_cudnn_op_call* call, size_t output, size_t input) {
  Type* target = OutputOf(call, output);
  if (target == nullptr || !call->node->has_input(static_cast<int>(input))) {
    return Fail(call, "set_output_like_input: there is no such output or input");
  }
  *target = call->node->input(static_cast<int>(input)).type();
  return 0;
}

}  // namespace

const onnx_cudnn_op_host& CustomOpHost() {
  static constexpr onnx_cudnn_op_host kTable = {.struct_size = sizeof(onnx_cudnn_op_host),
                                                .api_version = ONNX_CUDNN_OP_API_VERSION,
                                                .reserved = 0,
                                                .add_op = AddOp,
                                                .fail = Fail,
                                                .get_int = GetNumber<int64_t>,
                                                .get_float = GetNumber<float>,
                                                .get_string = GetString,
                                                .get_ints = GetList<int64_t>,
                                                .get_floats = GetList<float>,
                                                .set_output = SetOutput,
                                                .set_output_like_input = SetOutputLikeInput};
  return kTable;
}

}  // namespace onnx_cudnn
