#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/exec/seeded_numbers.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Computes what the Nodes of a Candidate write for seeded inputs, one Node after the other: by the
// Target's Engine `kernel` on row-major operands on the Device, or by the op's reference on the
// host if that Engine does not support the Node. Used by one thread at a time.
class Reference {
 public:
  // The references must outlive it.
  Reference(const Candidate& candidate, const Target& target, Device& device,
            ConstantStore& constants);

  // Runs the Nodes; must be called before all other functions.
  //   errors  those of a Node for these inputs
  absl::Status Run(IndexValues indices);
  // Row-major inputs and outputs, parallel to the Candidate's.
  absl::StatusOr<std::vector<HostTensor>> Inputs();
  absl::StatusOr<std::vector<HostTensor>> Outputs();
  // A Value that the Candidate reads or one of its Nodes writes, row-major on the Device.
  absl::StatusOr<std::shared_ptr<std::byte>> OnDevice(const Value& value);
  // The Target's Engine `kernel`; nullptr: none.
  const Engine* kernels() const { return kernels_; }

 private:
  // The elements of a Value, on the host, the Device or both.
  struct Held {
    HostTensor tensor;
    bool is_pinned = false;  // the tensor is in pinned memory of the Device
    std::shared_ptr<std::byte> memory;
  };

  absl::Status Fill(const Value& value, uint64_t seed, IndexValues indices);
  absl::Status RunNode(const Node& node);
  absl::Status RunReference(const Node& node);
  absl::StatusOr<std::vector<HostTensor>> OnHost(const std::vector<const Value*>& values);
  absl::StatusOr<HostTensor> OnHost(const Value& value);
  absl::Status Copy(std::byte* to, const std::byte* from, int64_t bytes);

  const Candidate& candidate_;
  const Boundary whole_;
  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
  std::unique_ptr<StreamSet> streams_;
  const Engine* kernels_ = nullptr;
  absl::flat_hash_map<const Value*, Held> values_;
};

}  // namespace onnx_cudnn
