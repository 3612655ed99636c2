#include "runtime/triton/instance.h"

#include <deque>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

std::string KindName(TRITONSERVER_InstanceGroupKind kind) {
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_GPU) return "KIND_GPU";
  return kind == TRITONSERVER_INSTANCEGROUPKIND_MODEL ? "KIND_MODEL" : "KIND_CPU";
}

using RowShapes = std::vector<std::vector<int64_t>>;

// The dims of the inputs without their rows.
RowShapes RowShapesOf(const ServedRequest& request) {
  RowShapes shapes;
  for (const RequestInput& input : request.inputs()) {
    shapes.emplace_back(input.shape.begin() + 1, input.shape.end());
  }
  return shapes;
}

// Requests that run together, in the order of their first ones.
std::vector<std::vector<ServedRequest*>> Batches(const std::vector<ServedRequest*>& requests,
                                                 int64_t max_batch) {
  struct Batch {
    RowShapes shapes;
    int64_t rows = 0;
    std::vector<ServedRequest*> requests;
  };
  std::vector<Batch> batches;
  for (ServedRequest* request : requests) {
    RowShapes shapes = max_batch > 0 ? RowShapesOf(*request) : RowShapes();
    Batch* batch = nullptr;
    for (Batch& open : batches) {
      if (open.rows + request->rows() <= max_batch && open.shapes == shapes) batch = &open;
    }
    if (batch == nullptr) batch = &batches.emplace_back(Batch{.shapes = std::move(shapes)});
    batch->rows += request->rows();
    batch->requests.push_back(request);
  }
  std::vector<std::vector<ServedRequest*>> grouped;
  for (Batch& batch : batches) grouped.push_back(std::move(batch.requests));
  return grouped;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Instance>> Instance::Create(TRITONBACKEND_ModelInstance* instance) {
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  int32_t device = 0;
  TRITONBACKEND_Model* model = nullptr;
  void* state = nullptr;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelInstanceKind(instance, &kind)));
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelInstanceDeviceId(instance, &device)));
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelInstanceModel(instance, &model)));
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelState(model, &state)));
  ModelVersion& version = *static_cast<ModelVersion*>(state);
  const Placement placement = {.kind = KindName(kind), .gpu = device};
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceSession> session, version.SessionOn(placement));
  std::unique_ptr<Instance> made(new Instance(instance, version, std::move(session)));
  RETURN_IF_ERROR(made->run_.Prepare());
  return made;
}

void Instance::Run(const std::vector<ServedRequest*>& batch, uint64_t begin) {
  RunTimes times{.begin = begin};
  int64_t rows = 0;
  for (const ServedRequest* request : batch) rows += request->rows();
  const std::vector<absl::Status> ended = run_.Run(batch, times);
  const bool one_is_wrong = batch.size() > 1 && absl::IsInvalidArgument(ended[0]);
  if (one_is_wrong) {
    for (ServedRequest* request : batch) Run({request}, begin);
    return;
  }
  for (size_t i = 0; i < batch.size(); ++i) batch[i]->End(instance_, ended[i], times);
  if (times.compute_end == 0) return;  // nothing was computed
  LogIfError(TRITONBACKEND_ModelInstanceReportBatchStatistics(
      instance_, rows, times.begin, times.compute_begin, times.compute_end, NowNs()));
}

void Instance::Execute(absl::Span<TRITONBACKEND_Request* const> requests) {
  const uint64_t begin = NowNs();
  std::deque<ServedRequest> served;
  std::vector<ServedRequest*> valid;
  for (TRITONBACKEND_Request* request : requests) {
    ServedRequest& one = served.emplace_back(request);
    const absl::Status read = Guarded(
        [&] { return one.Read(session_->session(), model_.outputs(), model_.max_batch()); });
    if (read.ok()) {
      valid.push_back(&one);
    } else {
      one.End(instance_, read, {.begin = begin});
    }
  }
  for (const auto& batch : Batches(valid, model_.max_batch())) Run(batch, begin);
  LogIfError(Guarded([&] {
    session_->UpdateMetricsNowAndThen();
    return absl::OkStatus();
  }));
}

}  // namespace onnx_cudnn::triton
