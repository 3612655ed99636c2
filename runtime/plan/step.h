#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/format.h"

namespace onnx_cudnn {

// A stream of one Executor: its number, and the Device's handle.
struct StreamRef {
  int index = 0;
  void* native = nullptr;
};

// A constant in the form that a Step needs. `from` are positions among the Candidate's constants
// (BoundaryOf order), so that Partitions of equal signature can share the Step; equal recipes over
// equal bytes are uploaded once.
struct Derived {
  using Make = std::function<absl::StatusOr<HostTensor>(absl::Span<const HostTensor> sources)>;
  std::vector<int> from;
  std::string recipe;  // identifies what `make` does; "": unchanged
  Format to;
  Make make;
};
Derived Unchanged(int constant, absl::Span<const int64_t> dims);

// Output `output` and input `input` share bytes: always (a view), or if the planner can arrange it.
struct Alias {
  enum class Kind : uint8_t {
    kOutputInInput,  // the output is in the input's bytes at `offset`
    kInputInOutput,  // the input is in the output's bytes at `offset`; always required
  };
  int output;
  int input;
  int64_t offset;
  bool required;
  Kind kind = Kind::kOutputInInput;
};

// Spans are valid only during the call; copy them to launch later.
struct LaunchArgs {
  absl::Span<const void* const> in;  // parallel to the Candidate's inputs
  absl::Span<void* const> out;
  absl::Span<const void* const> constants;  // parallel to Step::constants()
  void* workspace;                          // 256-byte aligned
  StreamRef stream;
  // A word that is 0 before the Run and that the host reads after it; Step::Fault decodes it.
  // nullptr for Steps whose may_fault() is false.
  uint64_t* fault = nullptr;
  // Whether the next work on the stream is a launch that uses programmatic dependent launch
  // (Step::uses_pdl).
  bool next_uses_pdl = false;
};

// A compiled signature. Contains no Node, Value or weight. Thread-safe.
class Step {
 public:
  virtual ~Step() = default;
  virtual int64_t workspace_bytes() const { return 0; }
  virtual absl::Span<const Derived> constants() const { return {}; }
  virtual absl::Span<const Alias> aliases() const { return {}; }
  virtual bool launches() const { return true; }  // false: a view, which consists of its aliases
  virtual absl::Status Launch(const LaunchArgs& args) const = 0;
  // Whether its first launch uses programmatic dependent launch: it may start before preceding
  // launches on the stream have ended, and waits for them on the device before it accesses their
  // data.
  virtual bool uses_pdl() const { return false; }
  // Inputs that its launches may read while the preceding launch on the stream still runs. If that
  // launch writes one of them, or the stream waited for another stream, a StreamSet::Barrier must
  // precede the Step.
  virtual absl::Span<const int> prefetched_inputs() const { return {}; }
  // Whether a successful launch may still store a fault word: an index out of range, detected on
  // the device.
  virtual bool may_fault() const { return false; }
  // The error for a nonzero `word`, with the text of the reference, without the Node's name.
  virtual absl::Status Fault(uint64_t word) const;
  virtual std::string Save() const = 0;  // for Engine::Load; "": nothing to save
};

}  // namespace onnx_cudnn
