// Names and types of inputs and outputs.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/c_api/boundary.h"
#include "runtime/c_api/handles.h"

static_assert(static_cast<int>(onnx_cudnn::ValueKind::kTensor) == ONNX_CUDNN_KIND_TENSOR);

onnx_cudnn_value_list::onnx_cudnn_value_list(std::vector<onnx_cudnn::ValueInfo> values)
    : infos(std::move(values)), dims(infos.size()) {
  for (size_t i = 0; i < infos.size(); ++i) {
    for (const onnx_cudnn::ValueInfo::Extent& extent : infos[i].dims) {
      dims[i].values.push_back(extent.value < 0 ? -1 : extent.value);
      dims[i].symbols.push_back(extent.symbol.c_str());
    }
  }
}

size_t onnx_cudnn_value_list_size(const onnx_cudnn_value_list* list) {
  return list == nullptr ? 0 : list->infos.size();
}

onnx_cudnn_status onnx_cudnn_value_list_get(const onnx_cudnn_value_list* list, size_t index,
                                            onnx_cudnn_value_info* info) {
  using namespace onnx_cudnn::c_api;  // NOLINT
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(list, "list"));
    if (index >= list->infos.size()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("index: expected less than %d, found %d", list->infos.size(), index));
    }
    const onnx_cudnn::ValueInfo& value = list->infos[index];
    const onnx_cudnn_value_list::Dims& dims = list->dims[index];
    onnx_cudnn_value_info filled = {};
    filled.name = value.name.c_str();
    filled.kind = static_cast<int32_t>(value.kind);
    filled.dtype = static_cast<int32_t>(value.dtype);
    filled.rank = value.ranked ? static_cast<int64_t>(value.dims.size()) : -1;
    filled.dims = dims.values.data();
    filled.symbols = dims.symbols.data();
    return WriteStruct(filled, "info", info);
  });
}

void onnx_cudnn_value_list_destroy(onnx_cudnn_value_list* list) { delete list; }
