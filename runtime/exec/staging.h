#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/not_copyable.h"
#include "runtime/exec/device.h"
#include "runtime/exec/pinned_pool.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Decides where the Steps of one Executor access a caller's tensors: in the caller's memory if the
// Device can, else in a buffer that is filled before the Steps and read back after them. A Run
// calls Prepare, CopyIn, the Steps, CopyOut, Deliver after the streams are synchronized, and End.
class Staging : NotCopyable {
 public:
  enum class Addresses : uint8_t {
    kCallers,  // in the caller's memory where the Device can access it
    kOurs,     // always in our buffers, so that every Run has the same addresses
  };

  Staging(const Graph& graph, Device& device, std::shared_ptr<PinnedPool> pool);
  ~Staging();

  // Inspects the pointers of a Run, allocates the buffers that they need, borrows pinned memory and
  // copies inputs from pageable memory there. No stream may still use staging memory of an earlier
  // Run.
  //   errors  ResourceExhausted; InvalidArgument: memory of another device
  absl::Status Prepare(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                       Addresses addresses);
  // Allocates every buffer on the device that a Run may need, so that none does.
  //   errors  ResourceExhausted
  absl::Status Reserve();
  const void* input(int i) const { return inputs_[i].address(); }
  void* output(int i) const { return outputs_[i].address(); }
  // Whether any tensor is in host memory that the Device cannot access: the Run then ends with
  // Deliver, not with CopyOut.
  bool touches_host() const;

  // Enqueues the copies on stream 0.
  absl::Status CopyIn(StreamSet& streams) const;
  absl::Status CopyOut(StreamSet& streams) const;
  // Copies outputs from pinned memory to the caller's.
  void Deliver() const;
  // Gives the pinned memory back; no stream may still use it.
  void End() { borrowed_.reset(); }

  int64_t bytes() const;            // of all buffers on the device
  int64_t bytes_copied_in() const;  // that CopyIn copies since the last Prepare
  int64_t bytes_copied_out() const;

 private:
  struct Tensor {
    int64_t bytes = 0;
    std::byte* callers = nullptr;
    bool is_ours = false;  // Steps use `buffer`
    bool on_host = false;  // `pinned` lies between it and the caller's memory
    std::shared_ptr<std::byte> buffer;
    std::byte* pinned = nullptr;  // in `borrowed_`

    std::byte* address() const { return is_ours ? buffer.get() : callers; }
    std::byte* other_end() const { return on_host ? pinned : callers; }
  };
  absl::Status Prepare(Tensor& tensor, void* callers, Addresses addresses);
  absl::Status Reserve(Tensor& tensor);
  absl::Status Borrow();
  static int64_t BytesOfOurs(const std::vector<Tensor>& tensors);

  Device& device_;
  const std::shared_ptr<PinnedPool> pool_;
  std::vector<Tensor> inputs_, outputs_;
  int64_t most_pinned_bytes_ = 0;
  std::shared_ptr<std::byte> borrowed_;  // for one Run
};

// Bytes of the buffers of an Executor if all of the callers' tensors are in host memory.
int64_t StagingBytes(const Graph& graph);

}  // namespace onnx_cudnn
