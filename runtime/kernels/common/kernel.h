// What each of our own kernels supports: pure rules, priced for a Target. The code of the kernel in
// NAME.cc is in NAME.cu.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/plan/engine.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Nodes that run as one launch, in topological order.
struct Unit {
  std::vector<const Node*> nodes;
  Boundary boundary;

  const Node& node() const { return *nodes[0]; }  // for a Unit of one Node
};
Unit UnitOf(std::vector<const Node*> nodes);

// The layouts of a Unit's operands in device memory, parallel to its Boundary.
struct Formats {
  std::vector<Format> inputs, outputs;
  bool operator==(const Formats&) const = default;
};

// All operands row-major.
std::vector<Formats> RowMajorOnly(const Unit& unit, const Target& target);

// Which operands of a Unit the kernel's code accepts with foreign lanes between pixels,
// channels-last (plan/interleaved.h), in addition to the Formats of the kernel. Pixels, and the
// first one of each operand, begin at multiples of 16 bytes.
enum class Pitched : uint8_t { kNone, kInputs, kOutputs, kAll };

// Which of the device's shares a kernel is expected to reach (KernelCalibration), in addition to
// the launch overhead. Kernels that move bytes must reach the usual share of a copy's bandwidth on
// tensors of 64 MB and more (tests/gpu/speed_test.cc).
struct Speed {
  double TrafficShares::*traffic = &TrafficShares::usual;
  double ArithmeticShares::*arithmetic = &ArithmeticShares::usual;
  int launches = 1;
  bool reads_what_it_writes = false;  // reads no more bytes of an input than all outputs have
};

// The GPU features that a kernel's code requires, whatever the Unit.
struct Capability {
  int compute_capability = 0;     // minimum; 0: any GPU that the runtime supports
  bool is_for_it_alone = false;   // architecture-specific code (sm_90a), which no other GPU runs
  std::string_view because = {};  // the feature that requires it
  int64_t shared_bytes = 0;       // per block
};
inline constexpr Capability kSm90aCode = {
    .compute_capability = 90, .is_for_it_alone = true, .because = "wgmma and the copy engine"};
inline constexpr Capability kClusters = {.compute_capability = 90, .because = "clusters"};

// A no names what is required and what was found.
Support CheckCapability(const Capability& needs, const DeviceInfo& found);

struct Kernel {
  std::string_view name = {};         // of its line in kernels.inc
  std::vector<std::string_view> ops;  // of the anchors around which it is proposed
  DTypeSet types = kFloatTypes;       // of the anchor's input 0, or of output 0 if it has no input
  int fewest_bits_of_constants = 8;   // per element; smaller constants are refused
  Capability needs = {};
  bool multiplies_f32_in_tf32 = false;  // takes f32 only if the Target's Numerics allow tf32
  // The sets of Nodes around an anchor from which a Unit may grow. nullptr: the anchor alone.
  std::vector<std::vector<const Node*>> (*cores)(const Node& anchor) = nullptr;
  // Further conditions for a core. nullptr: none.
  Support (*takes)(const Unit& core) = nullptr;
  // Whether the device has enough shared memory for a Unit that the kernel accepts. nullptr:
  // always.
  Support (*fits)(const Unit& unit, const DeviceInfo& info) = nullptr;
  // Which Nodes may join an accepted core. nullptr: none.
  GrowthOptions (*growth)(const Unit& core) = nullptr;
  // The layouts supported for the operands of a Unit, the preferred one first.
  std::vector<Formats> (*formats)(const Unit& unit, const Target& target) = RowMajorOnly;
  Pitched (*pitched)(const Unit& unit) = nullptr;  // nullptr: none
  Speed speed = {};
  // Predicted µs including the launch; nullptr: from `speed`.
  double (*us)(const Unit& unit, const Cost& roofline, const Target& target) = nullptr;
  // Whether the Unit is outside the range that `us` was fitted to, where other kernels are known to
  // be faster: its price is then multiplied by KernelCalibration::beyond_fit, and searches that do
  // not go by price skip it where they can (Candidate::beyond_fit). nullptr: never.
  bool (*beyond_fit)(const Unit& unit, const DeviceInfo& info) = nullptr;
  // The variants of the code (a tile, a split of K) that can run an accepted Unit, the best guess
  // first. nullptr: there is only one.
  std::vector<std::string> (*variants)(const Unit& unit, const Target& target) = nullptr;
};

// Every kernel, in the order of kernels.inc.
const std::vector<Kernel>& AllKernels();

// The Units that `kernel` proposes around `anchor`, which its reference supports: the cores, their
// first growth steps, and the largest sets that they grow into. If empty, `why_not` has the reason.
std::vector<Unit> UnitsAround(const Kernel& kernel, const Engine& engine, const Node& anchor,
                              CandidateSink& sink, Support& why_not);

// Whether `kernel` can run the Nodes, which their references support, as one launch.
Support CheckUnit(const Kernel& kernel, const Unit& unit);

// Whether the device can run the kernel's code and has enough memory for the Unit.
Support CheckOnDevice(const Kernel& kernel, const Unit& unit, const DeviceInfo& info);

bool IsBeyondFit(const Kernel& kernel, const Unit& unit, const DeviceInfo& info);

// The cost of the Unit with its operands in the Candidate's Formats.
Cost PriceOf(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
             const Target& target);

}  // namespace onnx_cudnn
