// ReverseSequence and TensorScatter: copies whole rows within each sequence of a batch.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// Rows of `row_bytes`: to[target(i)] = from[i], i < count.
template <typename Target>
void MoveRows(const void* from, void* to, int64_t row_bytes, int64_t count, ThreadPool& threads,
              const Target& target) {
  const char* read = static_cast<const char*>(from);
  char* write = static_cast<char*>(to);
  threads.ParallelFor(count, GrainFor(row_bytes), [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      std::copy_n(read + i * row_bytes, row_bytes, write + target(i) * row_bytes);
  });
}

Support CheckReverseSequence(const Node& node) {
  const int64_t batch = node.attrs().Int("batch_axis", 1), time = node.attrs().Int("time_axis", 0);
  if ((batch == 0 && time == 1) || (batch == 1 && time == 0)) {
    return node.input(0).rank() >= 2
               ? Support::Yes()
               : Support::No(absl::StrCat("rank ", node.input(0).rank(), " is below 2"));
  }
  return Support::No(
      absl::StrCat("batch_axis ", batch, " and time_axis ", time, " are not 0 and 1"));
}

absl::Status ReferenceReverseSequence(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, in.dims));
  const bool time_first = args.node.attrs().Int("time_axis", 0) == 0;
  const int64_t times = in.dims[time_first ? 0 : 1], batches = in.dims[time_first ? 1 : 0];
  RETURN_IF_ERROR(ExpectDims("sequence_lens", args.in[1].dims, {batches}));
  const std::vector<int64_t> lengths = IntsOf(args.in[1]);
  for (int64_t length : lengths) {
    if (length >= 0 && length <= times) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a sequence length is ", length, ", the time axis has ", times));
  }
  const int64_t row_bytes = ElementsOf(in.dims.subspan(2)) * ElementBytes(in.dtype);
  MoveRows(in.data, args.out[0].data, row_bytes, times * batches, args.threads, [&](int64_t i) {
    const int64_t time = time_first ? i / batches : i % times;
    const int64_t batch = time_first ? i % batches : i / times;
    const int64_t moved = time < lengths[batch] ? lengths[batch] - 1 - time : time;
    return time_first ? moved * batches + batch : batch * times + moved;
  });
  return absl::OkStatus();
}

Support CheckTensorScatter(const Node& node) {
  const int rank = node.input(0).rank();
  const int64_t axis = node.attrs().Int("axis", -2);
  const std::string mode = node.attrs().String("mode", "linear");
  if (Support s = CheckAxis(axis, rank); !s) return s;
  if (NormalizedAxis(axis, rank) == 0) return Support::No("axis is the batch axis");
  if (mode != "linear" && mode != "circular")
    return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
  return CheckSameDType(node, 2);
}

// The first written position of each sequence of the batch, in [0, extent).
absl::StatusOr<std::vector<int64_t>> WriteIndices(const ReferenceArgs& args, int64_t extent,
                                                  int64_t length) {
  const int64_t batches = args.in[0].dims[0];
  std::vector<int64_t> indices(batches, 0);
  if (args.has_in(2)) {
    RETURN_IF_ERROR(ExpectDims("write_indices", args.in[2].dims, {batches}));
    indices = IntsOf(args.in[2]);
  }
  const bool circular = args.node.attrs().String("mode", "linear") == "circular";
  for (int64_t& index : indices) {
    if (circular && extent > 0 && index >= 0) index %= extent;
    if (index >= 0 && index <= extent && (circular || index + length <= extent)) continue;
    return absl::InvalidArgumentError(absl::StrCat("write index ", index, " for ", length,
                                                   " rows is outside the cache's ", extent));
  }
  return indices;
}

absl::Status ReferenceTensorScatter(const ReferenceArgs& args) {
  const TensorRef &past = args.in[0], &update = args.in[1];
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, past.dims));
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", -2), past.dims.size());
  if (update.dims.size() != past.dims.size() || update.dims[axis] > past.dims[axis]) {
    return absl::InvalidArgumentError(
        absl::StrCat("update ", ToString(update.dims), " does not fit ", ToString(past.dims)));
  }
  Dims expected(past.dims.begin(), past.dims.end());
  expected[axis] = update.dims[axis];
  RETURN_IF_ERROR(ExpectDims("update", update.dims, expected));
  const AxisView view = ViewAround(past.dims, axis);
  const int64_t length = update.dims[axis];
  ASSIGN_OR_RETURN(const std::vector<int64_t> first, WriteIndices(args, view.extent, length));
  CopyBytes(past.data, args.out[0].data, past.bytes(), args.threads);
  const int64_t batches = past.dims[0];
  MoveRows(update.data, args.out[0].data, view.inner * ElementBytes(past.dtype),
           view.outer * length, args.threads, [&](int64_t i) {
             const int64_t outer = i / length, batch = outer / (view.outer / batches);
             return outer * view.extent + (first[batch] + i % length) % view.extent;
           });
  return absl::OkStatus();
}

}  // namespace

OpDef ReverseSequenceOp() {
  return {.types = kMovableTypes,
          .check = CheckReverseSequence,
          .reference = ReferenceReverseSequence,
          .traits = {.moves_bytes = true}};
}
OpDef TensorScatterOp() {
  return {.types = kMovableTypes,
          .check = CheckTensorScatter,
          .reference = ReferenceTensorScatter,
          .traits = {.updates = true}};
}

}  // namespace onnx_cudnn
