#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/device.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Where the tensors of a caller lie for the Steps of one Executor: in the caller's own memory where
// the Device reads that, else in a buffer here, filled before the Steps and emptied after them. A
// Run is Prepare, CopyIn, the Steps, CopyOut, and Deliver when the streams are done.
class Staging {
 public:
  enum class Addresses : uint8_t {
    kCallers,  // where the Device reads the caller's memory, right there
    kOurs,     // always in buffers here, so that every Run has the same addresses
  };

  Staging(const Graph& graph, Device& device);

  // Looks at the pointers of a Run, gets the buffers they need and copies inputs from host memory
  // into pinned one. No stream may still be using what an earlier Run staged from or to the host.
  //   errors  ResourceExhausted; InvalidArgument: memory of another device
  absl::Status Prepare(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                       Addresses addresses);
  const void* input(int i) const { return inputs_[i].address(); }
  void* output(int i) const { return outputs_[i].address(); }
  // Whether something lies in host memory that the Device does not read: then CopyOut is not the
  // end of the Run.
  bool touches_host() const;

  // Enqueue the copies on stream 0.
  absl::Status CopyIn(StreamSet& streams) const;
  absl::Status CopyOut(StreamSet& streams) const;
  // Outputs from pinned memory into the caller's.
  void Deliver() const;

  int64_t bytes() const;  // of all buffers, pinned ones among them

 private:
  struct Tensor {
    int64_t bytes = 0;
    std::byte* callers = nullptr;
    bool is_ours = false;  // Steps use `buffer`
    bool on_host = false;  // and `pinned` lies between it and the caller's memory
    std::shared_ptr<std::byte> buffer, pinned;

    std::byte* address() const { return is_ours ? buffer.get() : callers; }
    std::byte* other_end() const { return on_host ? pinned.get() : callers; }
  };
  absl::Status Prepare(Tensor& tensor, void* callers, Addresses addresses);

  Device& device_;
  std::vector<Tensor> inputs_, outputs_;
};

// Bytes of the buffers of an Executor whose callers' tensors are all staged from host memory.
int64_t StagingBytes(const Graph& graph);

}  // namespace onnx_cudnn
