#include "runtime/triton/batch_run.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/triton/data_types.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

int64_t Elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t ElementBytes(DType dtype) { return BitsOf(dtype) / 8; }

bool Overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto* first = static_cast<const char*>(a);
  const auto* second = static_cast<const char*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

bool OverlapsAny(const ResponseBuffer& buffer, const std::vector<NamedView>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const NamedView& input) {
    const int64_t bytes = Elements(input.view.shape) * ElementBytes(input.view.dtype);
    return Overlap(buffer.data, buffer.bytes, input.view.data, bytes);
  });
}

std::vector<int64_t> ShapeOf(const ValueInfo& info) {
  std::vector<int64_t> shape;
  for (const ValueInfo::Extent& dim : info.dims) shape.push_back(dim.value);
  return shape;
}

// The shape of a response's output.
const std::vector<int64_t>& ForClients(const std::vector<int64_t>& shape) {
  return shape.empty() ? kScalarDims : shape;
}

// Whether a Run can write all of them to given memory.
bool CanBeGiven(const std::vector<ValueInfo>& infos) {
  return AreKnown(infos) && std::none_of(infos.begin(), infos.end(), [](const ValueInfo& info) {
           return info.dtype == DType::kString;
         });
}

// An output of several requests, or of a batch that was filled up, has their rows.
absl::Status CheckRows(const std::string& name, const std::vector<int64_t>& shape, int64_t size) {
  if (!shape.empty() && shape[0] == size) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("output \"", name, "\" has ", shape.empty() ? 1 : shape[0],
                   " rows for a batch of ", size, ": set max_batch_size to 0 for this model"));
}

// All bytes of a request's input, in memory of the host.
absl::StatusOr<std::string> BytesOf(const RequestInput& input, BatchCopies& copies) {
  int64_t size = 0;
  for (const Piece& piece : input.pieces) size += piece.bytes;
  std::string bytes(size, '\0');
  char* at = bytes.data();
  for (const Piece& piece : input.pieces) {
    RETURN_IF_ERROR(copies.Copy(piece.data, piece.device, at, DeviceRef(), piece.bytes));
    at += piece.bytes;
  }
  RETURN_IF_ERROR(copies.Wait());
  return bytes;
}

}  // namespace

BatchRun::BatchRun(DeviceSession& session, const ModelVersion& model)
    : session_(session),
      model_(model),
      inputs_(session.session().inputs().size()),
      outputs_(session.session().outputs().size()),
      strings_(session.session().inputs().size()) {
  for (const DeviceStats& device : session.session().stats().devices) {
    if (device.device.kind == DeviceKind::kCuda) gpus_.push_back(device.device);
  }
}

absl::Status BatchRun::Prepare() {
  for (const DeviceRef& gpu : gpus_) RETURN_IF_ERROR(copies_.On(gpu.ordinal).status());
  return absl::OkStatus();
}

std::vector<absl::Status> BatchRun::Run(const std::vector<ServedRequest*>& batch, RunTimes& times) {
  std::vector<absl::Status> ended;
  const absl::Status status = Guarded([&] {
    ended = TryRun(batch, times);
    return absl::OkStatus();
  });
  if (!status.ok()) ended.assign(batch.size(), status);
  // Whatever was enqueued uses memory of the requests, which end now.
  if (const absl::Status copied = copies_.Wait(); !copied.ok()) {
    ended.assign(batch.size(), copied);
  }
  return ended;
}

// The GPU that runs a batch, as far as it is known: the only one, or that of the only request's
// inputs.
DeviceRef BatchRun::GpuOf(const Rows& rows) const {
  if (gpus_.size() == 1) return gpus_[0];
  if (!rows.is_whole) return {};
  for (const RequestInput& input : rows.requests[0]->inputs()) {
    for (const Piece& piece : input.pieces) {
      if (std::find(gpus_.begin(), gpus_.end(), piece.device) != gpus_.end()) return piece.device;
    }
  }
  return {};
}

// Whether a Run may read or write there.
bool BatchRun::IsUsable(const Rows& rows, const void* data, const DeviceRef& device,
                        DType dtype) const {
  if (device.kind == DeviceKind::kCuda) return device == rows.gpu;
  return reinterpret_cast<uintptr_t>(data) % ElementBytes(dtype) == 0;
}

// Where rows that are joined lie: in the GPU if all inputs do, for which one GPU must be known.
DeviceRef BatchRun::OwnMemory(const Rows& rows) const {
  if (gpus_.size() != 1) return {};
  for (const ServedRequest* request : rows.requests) {
    for (const RequestInput& input : request->inputs()) {
      for (const Piece& piece : input.pieces) {
        if (piece.device != gpus_[0]) return {};
      }
    }
  }
  return gpus_[0];
}

absl::StatusOr<TensorView> BatchRun::JoinedStrings(const Rows& rows, size_t input,
                                                   TensorView view) {
  ASSIGN_OR_RETURN(strings_[input], StatusOr(Tensor::Allocate(view.dtype, view.shape)));
  auto* const all = strings_[input].data<std::string>();
  int64_t at = 0;
  for (const ServedRequest* request : rows.requests) {
    const RequestInput& from = request->inputs()[input];
    ASSIGN_OR_RETURN(const std::string bytes, BytesOf(from, copies_));
    const int64_t count = Elements(from.shape);
    RETURN_IF_ERROR(
        Annotate(ReadStrings(bytes, absl::MakeSpan(all + at, count)),
                 absl::StrCat("input \"", session_.session().inputs()[input].name, "\"")));
    at += count;
  }
  const int64_t row =
      view.shape.empty() ? 0 : Elements(view.shape) / std::max<int64_t>(rows.size, 1);
  for (; at < Elements(view.shape); at += row) std::copy(all, all + row, all + at);
  view.data = all;
  return view;
}

absl::StatusOr<TensorView> BatchRun::Joined(const Rows& rows, size_t input, TensorView view) {
  const int64_t bytes = Elements(view.shape) * ElementBytes(view.dtype);
  view.device = OwnMemory(rows);
  ASSIGN_OR_RETURN(view.data, inputs_[input].Get(bytes, view.device, copies_));
  auto* const all = static_cast<char*>(view.data);
  int64_t at = 0;
  for (const ServedRequest* request : rows.requests) {
    for (const Piece& piece : request->inputs()[input].pieces) {
      RETURN_IF_ERROR(copies_.Copy(piece.data, piece.device, all + at, view.device, piece.bytes));
      at += piece.bytes;
    }
  }
  RETURN_IF_ERROR(copies_.Wait());
  const int64_t row = rows.is_whole ? bytes : bytes / rows.size;
  for (; row > 0 && at < bytes; at += row) {
    RETURN_IF_ERROR(copies_.Copy(all, view.device, all + at, view.device, row));
  }
  RETURN_IF_ERROR(copies_.Wait());
  return view;
}

absl::StatusOr<TensorView> BatchRun::InputOf(const Rows& rows, size_t input) {
  const RequestInput& first = rows.requests[0]->inputs()[input];
  TensorView view{.data = nullptr, .dtype = first.dtype, .shape = first.shape};
  if (!rows.is_whole) view.shape[0] = rows.size;
  const ValueInfo& info = session_.session().inputs()[input];
  if (info.ranked && info.dims.empty() && view.shape == kScalarDims) view.shape.clear();
  if (first.dtype != info.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", ToString(info), ": found ", ::onnx_cudnn::NameOf(first.dtype)));
  }
  if (view.dtype == DType::kString) return JoinedStrings(rows, input, std::move(view));
  if (rows.is_whole && first.pieces.empty()) return view;  // no elements
  const Piece* only = rows.is_whole && first.pieces.size() == 1 ? &first.pieces[0] : nullptr;
  if (only != nullptr && IsUsable(rows, only->data, only->device, view.dtype)) {
    view.data = const_cast<void*>(only->data);
    view.device = only->device;
    return view;
  }
  return Joined(rows, input, std::move(view));
}

absl::StatusOr<BatchRun::Written> BatchRun::OutputOf(const Rows& rows, size_t output,
                                                     const ValueInfo& info) {
  Written written;
  written.view = {.data = nullptr, .dtype = info.dtype, .shape = ShapeOf(info)};
  const int64_t bytes = Elements(written.view.shape) * ElementBytes(info.dtype);
  if (!rows.is_whole) RETURN_IF_ERROR(CheckRows(info.name, written.view.shape, rows.size));
  if (rows.is_whole && rows.requests[0]->wants(output)) {
    ASSIGN_OR_RETURN(written.response,
                     rows.requests[0]->NewOutput(model_.outputs()[output],
                                                 ForClients(written.view.shape), bytes, rows.gpu));
    const ResponseBuffer& response = *written.response;
    written.is_in_place = IsUsable(rows, response.data, response.device, info.dtype) &&
                          !OverlapsAny(response, rows.inputs);
    if (written.is_in_place) {
      written.view.data = response.data;
      written.view.device = response.device;
      return written;
    }
  }
  written.view.device = OwnMemory(rows);
  ASSIGN_OR_RETURN(written.view.data, outputs_[output].Get(bytes, written.view.device, copies_));
  return written;
}

absl::StatusOr<std::vector<BatchRun::Written>> BatchRun::RunInto(
    const Rows& rows, const std::vector<ValueInfo>& infos, RunTimes& times) {
  std::vector<Written> written;
  std::vector<NamedView> outputs;
  for (size_t i = 0; i < infos.size(); ++i) {
    ASSIGN_OR_RETURN(written.emplace_back(), OutputOf(rows, i, infos[i]));
    outputs.emplace_back(written.back().view);
  }
  RETURN_IF_ERROR(StatusOf(session_.session().Run(rows.inputs, outputs)));
  times.compute_end = NowNs();
  return written;
}

absl::StatusOr<std::vector<BatchRun::Written>> BatchRun::RunToNew(const Rows& rows,
                                                                  std::vector<Tensor>& tensors,
                                                                  RunTimes& times) {
  ASSIGN_OR_RETURN(tensors, StatusOr(session_.session().Run(rows.inputs)));
  times.compute_end = NowNs();
  std::vector<Written> written;
  for (size_t i = 0; i < tensors.size(); ++i) {
    written.emplace_back().view = tensors[i].view();
    if (rows.is_whole) continue;
    RETURN_IF_ERROR(CheckRows(model_.outputs()[i].name, tensors[i].shape(), rows.size));
  }
  return written;
}

absl::Status BatchRun::Respond(ServedRequest& request, int64_t row,
                               const std::vector<Written>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Written& from = outputs[i];
    if (!request.wants(i) || from.is_in_place) continue;
    std::vector<int64_t> shape = from.view.shape;
    const int64_t all_elements = Elements(shape);
    int64_t begin = 0;
    if (row >= 0) {
      begin = all_elements / shape[0] * row;
      shape[0] = request.rows();
    }
    const int64_t count = Elements(shape);
    if (from.view.dtype == DType::kString) {
      const absl::Span<const std::string> own(
          static_cast<const std::string*>(from.view.data) + begin, count);
      std::string bytes(BytesOfStrings(own), '\0');
      WriteStrings(own, bytes.data());
      ASSIGN_OR_RETURN(const ResponseBuffer to,
                       request.NewOutput(model_.outputs()[i], ForClients(shape),
                                         static_cast<int64_t>(bytes.size()), DeviceRef()));
      RETURN_IF_ERROR(copies_.Copy(bytes.data(), DeviceRef(), to.data, to.device, to.bytes));
      RETURN_IF_ERROR(copies_.Wait());
      continue;
    }
    const int64_t element = ElementBytes(from.view.dtype);
    ResponseBuffer to;
    if (from.response.has_value()) {
      to = *from.response;
    } else {
      ASSIGN_OR_RETURN(to, request.NewOutput(model_.outputs()[i], ForClients(shape),
                                             count * element, from.view.device));
    }
    const char* data = static_cast<const char*>(from.view.data) + begin * element;
    RETURN_IF_ERROR(copies_.Copy(data, from.view.device, to.data, to.device, to.bytes));
  }
  return absl::OkStatus();
}

std::vector<absl::Status> BatchRun::TryRun(const std::vector<ServedRequest*>& batch,
                                           RunTimes& times) {
  const auto all = [&](const absl::Status& status) {
    return std::vector<absl::Status>(batch.size(), status);
  };
  int64_t count = 0;
  for (const ServedRequest* request : batch) count += request->rows();
  Rows rows{.requests = batch};
  rows.size = model_.max_batch() > 0 ? SizeFor(model_.batch_sizes(), count) : count;
  rows.is_whole = batch.size() == 1 && rows.size == count;
  rows.gpu = GpuOf(rows);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    absl::StatusOr<TensorView> input = InputOf(rows, i);
    if (!input.ok()) return all(input.status());
    rows.inputs.emplace_back(*std::move(input));
  }
  times.compute_begin = NowNs();
  const auto infos = StatusOr(session_.session().OutputsFor(rows.inputs));
  if (!infos.ok()) return all(infos.status());
  std::vector<Tensor> tensors;
  const auto written =
      CanBeGiven(*infos) ? RunInto(rows, *infos, times) : RunToNew(rows, tensors, times);
  if (!written.ok()) return all(written.status());
  session_.CountRun(rows.size - count);
  std::vector<absl::Status> ended;
  int64_t row = 0;
  for (ServedRequest* request : batch) {
    ended.push_back(Respond(*request, rows.is_whole ? -1 : row, *written));
    row += request->rows();
  }
  return ended;
}

}  // namespace onnx_cudnn::triton
