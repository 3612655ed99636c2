#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

std::string NameOf(const DeviceRef& device);  // "the host", "cpu:3", "CUDA device 0"

bool IsRowMajor(const TensorView& view);

Type::Kind TypeKindOf(ValueKind kind);
ValueInfo DescribeValue(std::string_view name, const Type& type);

// The views of a call, parallel to `infos`; each has the dtype, rank and dims that its info
// requires, is row-major, and is in host memory or (except strings) in memory of `device`.
//   what    "input" or "output", for messages
//   errors  InvalidArgument: an unknown, missing or repeated name, names mixed with positions, a
//           view that does not fit
absl::StatusOr<std::vector<const TensorView*>> MatchArguments(const std::vector<NamedView>& views,
                                                              const std::vector<ValueInfo>& infos,
                                                              std::string_view what,
                                                              const DeviceRef& device);

// The same for values of any kind; an optional may be given by the value that it holds.
absl::StatusOr<std::vector<ModelValue>> MatchValues(const std::vector<NamedValue>& values,
                                                    const std::vector<ValueInfo>& infos,
                                                    std::string_view what, const DeviceRef& device);

// InvalidArgument: null or misaligned memory. Messages use `what` and `index`: "input 2".
absl::Status CheckPointer(const TensorView& view, std::string_view what, size_t index);

// InvalidArgument: null or misaligned memory; an output that overlaps another output, or an input
// other than the one whose memory it may have.
//   in_place  the index of that input for an output, or -1 (InPlaceInput); empty: no output has one
absl::Status CheckMemory(const std::vector<const TensorView*>& inputs,
                         const std::vector<const TensorView*>& outputs,
                         const std::function<int(size_t output)>& in_place = nullptr);

}  // namespace onnx_cudnn
