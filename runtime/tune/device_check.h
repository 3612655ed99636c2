#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/compare.h"
#include "runtime/tune/reference.h"

namespace onnx_cudnn {

// Compares the outputs of a Candidate's Steps with its Reference on the Device, using kernels of
// the Target's Engine `kernel`: copying both to the host would take longer than measuring. For
// Devices whose memory the host cannot read. Used by one thread at a time.
class DeviceCheck {
 public:
  // The references must outlive it; `reference` has been run.
  DeviceCheck(const Candidate& candidate, const Target& target, Device& device,
              ConstantStore& constants, Reference& reference);

  // Whether the outputs of `step` are finite and within the tolerances, which are parallel to the
  // outputs. false: they are not, or the kernels cannot decide.
  //   errors  failures of the Step and of the Device
  absl::StatusOr<bool> Agrees(const std::shared_ptr<const Step>& step,
                              absl::Span<const Tolerance> tolerances);

 private:
  using Memory = std::shared_ptr<std::byte>;
  using Memories = absl::flat_hash_map<const Value*, Memory>;
  class SmallGraph;

  bool CanTell(const Step& step) const;
  absl::StatusOr<Memory> RunKernel(const Graph& graph, Candidate unit, const Memories& memories);
  absl::StatusOr<Memory> Reformatted(const Value& value, const Format& from, const Format& to,
                                     const Memory& memory);
  absl::StatusOr<bool> AreClose(const Value& value, const Memory& found, Tolerance tolerance);
  absl::StatusOr<std::optional<float>> LargestOf(const Value& value);
  absl::StatusOr<std::optional<float>> Reduce(SmallGraph& made, Value& value,
                                              const Memories& inputs, std::string op);
  absl::StatusOr<Memory> Upload(float number);
  absl::Status Copy(std::byte* to, const std::byte* from);

  const Candidate& candidate_;
  const Boundary whole_;
  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
  Reference& reference_;
  const Engine* const kernels_;  // nullptr: the Target has none
  std::unique_ptr<StreamSet> streams_;
  Memories placed_;  // the inputs in the Candidate's Formats
  absl::flat_hash_map<const Value*, std::optional<float>> largest_;
};

}  // namespace onnx_cudnn
