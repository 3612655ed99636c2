#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/c_api/boundary.h"
#include "runtime/c_api/dlpack.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/options.h"

using onnx_cudnn::Result;
using onnx_cudnn::RunOptions;
using onnx_cudnn::Session;
using onnx_cudnn::SessionOptions;
using onnx_cudnn::SessionStats;
using onnx_cudnn::Tensor;
using namespace onnx_cudnn::c_api;  // NOLINT: the functions below are C

onnx_cudnn_session::onnx_cudnn_session(Session loaded)
    : session(std::move(loaded)),
      inputs(session.inputs()),
      outputs(session.outputs()),
      facts(session.device_facts()),
      device(session.device()),
      device_note(session.device_note()) {}

namespace {

// `load` returns the Session for options.
template <typename Load>
onnx_cudnn_status LoadSession(const onnx_cudnn_session_options* options, Load load,
                              onnx_cudnn_session** session) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(session, "session"));
    ASSIGN_OR_RETURN(const SessionOptions read, SessionOptionsOf(options));
    ASSIGN_OR_RETURN(Session loaded, load(read));
    *session = new onnx_cudnn_session(std::move(loaded));
    return absl::OkStatus();
  });
}

onnx_cudnn_status GetList(const onnx_cudnn_session* session,
                          const onnx_cudnn_value_list onnx_cudnn_session::*member,
                          const onnx_cudnn_value_list** list) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(list, "list"));
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    *list = &(session->*member);
    return absl::OkStatus();
  });
}

absl::Status CheckOutputs(const onnx_cudnn_session& session, DLManagedTensorVersioned** outputs,
                          size_t output_count) {
  if (output_count > 0) {
    RETURN_IF_ERROR(CheckGiven(outputs, "outputs"));
    std::fill(outputs, outputs + output_count, nullptr);
  }
  const size_t expected = session.outputs.infos.size();
  if (output_count == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("output_count: expected %d, found %d", expected, output_count));
}

}  // namespace

onnx_cudnn_status onnx_cudnn_session_load(const char* path,
                                          const onnx_cudnn_session_options* options,
                                          onnx_cudnn_session** session) {
  const auto load = [&](const SessionOptions& read) -> absl::StatusOr<Session> {
    RETURN_IF_ERROR(CheckGiven(path, "path"));
    return StatusOr(Session::Load(path, read));
  };
  return LoadSession(options, load, session);
}

onnx_cudnn_status onnx_cudnn_session_load_bytes(const void* bytes, size_t size,
                                                const onnx_cudnn_session_options* options,
                                                onnx_cudnn_session** session) {
  const auto load = [&](const SessionOptions& read) -> absl::StatusOr<Session> {
    RETURN_IF_ERROR(CheckGiven(bytes, "bytes"));
    return StatusOr(Session::LoadBytes({static_cast<const char*>(bytes), size}, read));
  };
  return LoadSession(options, load, session);
}

void onnx_cudnn_session_destroy(onnx_cudnn_session* session) { delete session; }

onnx_cudnn_status onnx_cudnn_session_get_info(const onnx_cudnn_session* session,
                                              onnx_cudnn_session_info* info) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    const onnx_cudnn::DeviceRef memory = session->session.device_ref();
    onnx_cudnn_session_info filled = {};
    filled.device = session->device.c_str();
    filled.device_note = session->device_note.c_str();
    filled.device_type = static_cast<int32_t>(memory.kind);
    filled.device_id = memory.ordinal;
    filled.precision = static_cast<int32_t>(session->session.precision());
    filled.product = session->facts.product.c_str();
    filled.driver = session->facts.driver.c_str();
    filled.cuda = session->facts.cuda.c_str();
    filled.cudnn = session->facts.cudnn.c_str();
    return WriteStruct(filled, "info", info);
  });
}

onnx_cudnn_status onnx_cudnn_session_get_stats(const onnx_cudnn_session* session,
                                               onnx_cudnn_session_stats* stats) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    const SessionStats now = session->session.stats();
    const onnx_cudnn_session_stats filled = {.device_ms = now.device_ms,
                                             .load_ms = now.load_ms,
                                             .optimize_ms = now.optimize_ms,
                                             .plan_ms = now.plan_ms,
                                             .tune_ms = now.tune_ms,
                                             .tuned_signatures = now.tuned_signatures,
                                             .cached_signatures = now.cached_signatures,
                                             .programs_built = now.programs_built,
                                             .programs_held = now.programs_held,
                                             .programs_swapped = now.programs_swapped,
                                             .weight_bytes = now.weight_bytes,
                                             .arena_bytes = now.arena_bytes,
                                             .nodes = now.nodes,
                                             .host_nodes = now.host_nodes,
                                             .segments = now.segments,
                                             .nodes_between = now.nodes_between,
                                             .size_reads = now.size_reads,
                                             .size_reads_ms = now.size_reads_ms,
                                             .between_ms = now.between_ms,
                                             .segmented_ms = now.segmented_ms};
    return WriteStruct(filled, "stats", stats);
  });
}

onnx_cudnn_status onnx_cudnn_session_get_tune_notes(const onnx_cudnn_session* session, char* buffer,
                                                    size_t capacity, size_t* size) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    RETURN_IF_ERROR(CheckGiven(size, "size"));
    if (capacity > 0) RETURN_IF_ERROR(CheckGiven(buffer, "buffer"));
    const std::string notes = absl::StrJoin(session->session.stats().tune_notes, "\n");
    *size = notes.size() + 1;
    if (*size <= capacity) std::memcpy(buffer, notes.c_str(), *size);
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_session_get_inputs(const onnx_cudnn_session* session,
                                                const onnx_cudnn_value_list** inputs) {
  return GetList(session, &onnx_cudnn_session::inputs, inputs);
}

onnx_cudnn_status onnx_cudnn_session_get_outputs(const onnx_cudnn_session* session,
                                                 const onnx_cudnn_value_list** outputs) {
  return GetList(session, &onnx_cudnn_session::outputs, outputs);
}

onnx_cudnn_status onnx_cudnn_session_outputs_for(const onnx_cudnn_session* session,
                                                 const char* const* input_names,
                                                 const DLTensor* const* inputs, size_t input_count,
                                                 onnx_cudnn_value_list** outputs) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(outputs, "outputs"));
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    ASSIGN_OR_RETURN(const BorrowedTensors given,
                     Borrow(input_names, inputs, input_count, "input", BorrowedFor::kReading));
    ASSIGN_OR_RETURN(auto infos, StatusOr(session->session.OutputsFor(given.views)));
    *outputs = new onnx_cudnn_value_list(std::move(infos));
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_session_run(const onnx_cudnn_session* session,
                                         const char* const* input_names,
                                         const DLTensor* const* inputs, size_t input_count,
                                         DLManagedTensorVersioned** outputs, size_t output_count,
                                         const onnx_cudnn_run_options* options) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    RETURN_IF_ERROR(CheckOutputs(*session, outputs, output_count));
    ASSIGN_OR_RETURN(const RunOptions read, RunOptionsOf(options));
    ASSIGN_OR_RETURN(const BorrowedTensors given,
                     Borrow(input_names, inputs, input_count, "input", BorrowedFor::kReading));
    ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                     StatusOr(session->session.Run(given.views, read)));
    std::vector<ManagedTensor> managed;
    for (Tensor& tensor : tensors) managed.push_back(Manage(std::move(tensor)));
    for (size_t i = 0; i < output_count; ++i) outputs[i] = managed[i].release();
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_session_run_into(const onnx_cudnn_session* session,
                                              const char* const* input_names,
                                              const DLTensor* const* inputs, size_t input_count,
                                              const char* const* output_names,
                                              const DLTensor* const* outputs, size_t output_count,
                                              const onnx_cudnn_run_options* options) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    ASSIGN_OR_RETURN(const RunOptions read, RunOptionsOf(options));
    ASSIGN_OR_RETURN(const BorrowedTensors in,
                     Borrow(input_names, inputs, input_count, "input", BorrowedFor::kReading));
    ASSIGN_OR_RETURN(const BorrowedTensors out,
                     Borrow(output_names, outputs, output_count, "output", BorrowedFor::kWriting));
    return StatusOf(session->session.Run(in.views, out.views, read));
  });
}

onnx_cudnn_status onnx_cudnn_session_to_device(const onnx_cudnn_session* session,
                                               const DLTensor* host,
                                               DLManagedTensorVersioned** copy) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(copy, "copy"));
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    ASSIGN_OR_RETURN(const BorrowedTensors given,
                     Borrow(nullptr, &host, 1, "tensor", BorrowedFor::kReading));
    ASSIGN_OR_RETURN(Tensor tensor, StatusOr(session->session.ToDevice(given.views[0].view)));
    *copy = Manage(std::move(tensor)).release();
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_session_to_host(const onnx_cudnn_session* session,
                                             const DLManagedTensorVersioned* tensor,
                                             DLManagedTensorVersioned** copy) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(copy, "copy"));
    RETURN_IF_ERROR(CheckGiven(session, "session"));
    RETURN_IF_ERROR(CheckGiven(tensor, "tensor"));
    const Tensor* ours = TensorIn(*tensor);
    if (ours == nullptr) {
      return absl::InvalidArgumentError(
          "tensor: expected one that onnx_cudnn_session_to_device made, found another's");
    }
    ASSIGN_OR_RETURN(Tensor host, StatusOr(session->session.ToHost(*ours)));
    *copy = Manage(std::move(host)).release();
    return absl::OkStatus();
  });
}
