#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/status.h"
#include "runtime/c_api/boundary.h"
#include "runtime/c_api/dlpack.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/options.h"

using namespace onnx_cudnn::c_api;  // NOLINT: the functions below are C

onnx_cudnn_status onnx_cudnn_session_bind(const onnx_cudnn_session* session,
                                          const char* const* input_names,
                                          const DLTensor* const* inputs, size_t input_count,
                                          const char* const* output_names,
                                          const DLTensor* const* outputs, size_t output_count,
                                          onnx_cudnn_binding** binding) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(binding, "binding"));
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    ASSIGN_OR_RETURN(BorrowedTensors in,
                     Borrow(input_names, inputs, input_count, "input", BorrowedFor::kReading));
    ASSIGN_OR_RETURN(const BorrowedTensors out,
                     Borrow(output_names, outputs, output_count, "output", BorrowedFor::kWriting));
    ASSIGN_OR_RETURN(onnx_cudnn::Binding bound,
                     StatusOr(session->session.Bind(in.views, out.views)));
    *binding = new onnx_cudnn_binding{std::move(bound), std::move(in.strings), ""};
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_binding_run(onnx_cudnn_binding* binding,
                                         const onnx_cudnn_run_options* options) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(binding, "binding"));
    ASSIGN_OR_RETURN(const onnx_cudnn::RunOptions read, RunOptionsOf(options));
    return StatusOf(binding->binding.Run(read));
  });
}

onnx_cudnn_status onnx_cudnn_binding_time_runs(onnx_cudnn_binding* binding, int32_t runs,
                                               double* milliseconds) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(binding, "binding"));
    if (runs > 0) RETURN_IF_ERROR(CheckGiven(milliseconds, "milliseconds"));
    ASSIGN_OR_RETURN(const std::vector<double> times, StatusOr(binding->binding.TimeRuns(runs)));
    std::copy(times.begin(), times.end(), milliseconds);
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_binding_get_graph_note(onnx_cudnn_binding* binding,
                                                    const char** note) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(note, "note"));
    RETURN_IF_ERROR(CheckGiven(binding, "binding"));
    binding->graph_note = binding->binding.graph_note();
    *note = binding->graph_note.c_str();
    return absl::OkStatus();
  });
}

void onnx_cudnn_binding_destroy(onnx_cudnn_binding* binding) { delete binding; }
