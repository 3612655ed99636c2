#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// A stream of one Executor: its number, and the Device's own handle.
struct StreamRef {
  int index = 0;
  void* native = nullptr;
};

// A constant in the form that a Step wants. `from` are positions among the Candidate's constants
// (BoundaryOf order), so that Partitions of equal signature share the Step; equal recipes over
// equal bytes give one upload.
struct Derived {
  using Make = std::function<absl::StatusOr<HostTensor>(absl::Span<const HostTensor> sources)>;
  std::vector<int> from;
  std::string recipe;  // names what `make` does; "" is: unchanged
  Format to;
  Make make;
};
Derived Unchanged(int constant, absl::Span<const int64_t> dims);

// Output `output` and input `input` share bytes: always (a view), or where the planner can do so.
struct Alias {
  enum class Kind : uint8_t {
    kOutputInInput,  // the output lies in the input's bytes at `offset` bytes
    kInputInOutput,  // the input was written into the output's bytes there; always required
  };
  int output;
  int input;
  int64_t offset;
  bool required;
  Kind kind = Kind::kOutputInInput;
};

// Spans are valid during the call only: copy them to launch later.
struct LaunchArgs {
  absl::Span<const void* const> in;  // parallel to the Candidate's inputs
  absl::Span<void* const> out;
  absl::Span<const void* const> constants;  // parallel to Step::constants()
  void* workspace;                          // 256-byte aligned
  StreamRef stream;
  // A word that the host reads after the Run, 0 before it; what Step::Fault explains. nullptr for
  // Steps that say may_fault() == false.
  uint64_t* fault = nullptr;
  // Whether the next work on the stream is a launch that waits (Step::uses_pdl).
  bool next_uses_pdl = false;
};

// A compiled signature. Holds no Node, Value or weight. Thread-safe.
class Step {
 public:
  virtual ~Step() = default;
  virtual int64_t workspace_bytes() const { return 0; }
  virtual absl::Span<const Derived> constants() const { return {}; }
  virtual absl::Span<const Alias> aliases() const { return {}; }
  virtual bool launches() const { return true; }  // false: a view, aliases are all of it
  virtual absl::Status Launch(const LaunchArgs& args) const = 0;
  // Whether its first launch may start before those on the stream before it are over, and waits for
  // them on the device before it reads or writes.
  virtual bool uses_pdl() const { return false; }
  // Inputs that its launches may read while the launch before them on the stream still runs. Behind
  // a launch that writes one of them, or behind a wait for another stream, a StreamSet::Barrier has
  // to stand before it.
  virtual absl::Span<const int> prefetched_inputs() const { return {}; }
  // Whether a launch that succeeded may still store a fault word: an index out of range, seen on
  // the device.
  virtual bool may_fault() const { return false; }
  // The error that `word`, not 0, stands for, as the reference says it, without the Node's name.
  virtual absl::Status Fault(uint64_t word) const;
  virtual std::string Save() const = 0;  // for Engine::Load; "" when there is nothing to save
};

}  // namespace onnx_cudnn
