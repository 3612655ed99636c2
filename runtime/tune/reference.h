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

// What the Nodes of a Candidate write for seeded inputs, one Node after the other: by the Target's
// Engine `kernel` over row-major operands on the Device, by the op's reference on the host where
// that takes none. Used by one thread at a time.
class Reference {
 public:
  // The references outlive it.
  Reference(const Candidate& candidate, const Target& target, Device& device,
            ConstantStore& constants);

  // Runs the Nodes; comes before all other calls.
  //   errors  those of a Node for these inputs
  absl::Status Run(IndexValues indices);
  // Row-major, parallel to the Candidate's inputs and outputs.
  absl::StatusOr<std::vector<HostTensor>> Inputs();
  absl::StatusOr<std::vector<HostTensor>> Outputs();
  // A Value that the Candidate reads or one of its Nodes writes, row-major.
  absl::StatusOr<std::shared_ptr<std::byte>> OnDevice(const Value& value);
  // The Target's Engine `kernel`; nullptr: it has none.
  const Engine* kernels() const { return kernels_; }

 private:
  // A Value's elements, on the host or the Device or both.
  struct Held {
    HostTensor tensor;
    bool is_pinned = false;  // the tensor is in the Device's memory
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
