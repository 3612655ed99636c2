// What each of our own kernels takes: pure rules, priced for a Target. The code of kernel NAME.cc
// comes in NAME.cu.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/plan/engine.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Nodes that would run as one launch, in topological order.
struct Unit {
  std::vector<const Node*> nodes;
  Boundary boundary;

  const Node& node() const { return *nodes[0]; }  // of a Unit of one
};
Unit UnitOf(std::vector<const Node*> nodes);

// How the operands of a Unit lie on the device, parallel to its Boundary.
struct Formats {
  std::vector<Format> inputs, outputs;
  bool operator==(const Formats&) const = default;
};

// What a kernel's code is expected to reach on any GPU, beside what a launch takes. The share of a
// copy's speed is what every mover of bytes has to show on tensors of 64 MB and more
// (tests/gpu/speed_test.cc); arithmetic is that of plain fp32 code.
struct Speed {
  double traffic = 0.8;      // of the device's bytes per µs
  double arithmetic = 0.25;  // of the device's f32 rate; f64 runs at half of it
  int launches = 1;
  bool reads_what_it_writes = false;  // of an input no more bytes than all outputs have
};

// What a kernel's code needs of a GPU, whatever the Unit.
struct Capability {
  int compute_capability = 0;     // at least; 0: that of every GPU that the runtime takes
  bool is_for_it_alone = false;   // sm_90a: instructions that no other GPU has
  std::string_view because = {};  // what that capability has
  int64_t shared_bytes = 0;       // of a block
};
inline constexpr Capability kSm90aCode = {
    .compute_capability = 90, .is_for_it_alone = true, .because = "wgmma and the copy engine"};
inline constexpr Capability kClusters = {.compute_capability = 90, .because = "clusters"};

// A no names what is needed and what was found.
Support CheckCapability(const Capability& needs, const DeviceInfo& found);

struct Kernel {
  std::string_view name;
  std::vector<std::string_view> ops;  // of the Nodes around which it is proposed
  DTypeSet types = kFloatTypes;       // of input 0 of those, or of output 0 where there is no input
  Capability needs = {};
  bool multiplies_f32_in_tf32 = false;  // then f32 only where a Target's Numerics have tf32
  // The sets of Nodes around an anchor that it may start from. nullptr: the anchor alone.
  std::vector<std::vector<const Node*>> (*cores)(const Node& anchor) = nullptr;
  // What else a core must be. nullptr: nothing.
  Support (*takes)(const Unit& core) = nullptr;
  // Whether a Unit that it takes has room on the device: shared memory. nullptr: always.
  Support (*fits)(const Unit& unit, const DeviceInfo& info) = nullptr;
  // What may join a core that it takes. nullptr: nothing.
  GrowthOptions (*growth)(const Unit& core) = nullptr;
  // The layouts in which it takes the operands of a Unit, the preferred one first.
  std::vector<Formats> (*formats)(const Unit& unit, const Target& target) = nullptr;
  Speed speed = {};
  // Predicted µs with the launch; nullptr: by `speed`.
  double (*us)(const Unit& unit, const Cost& roofline, const Target& target) = nullptr;
  // Whether the Unit lies beyond what `us` was fitted to, where others are known to be faster: then
  // it costs KernelCalibration::beyond_fit times as much, and searches that do not go by price pass
  // over it (Candidate::beyond_fit). nullptr: never.
  bool (*beyond_fit)(const Unit& unit, const DeviceInfo& info) = nullptr;
  // The variants of its code (a tile, a split of K) that can run a Unit that it takes, the best
  // guess first. nullptr: there is but one.
  std::vector<std::string> (*variants)(const Unit& unit, const Target& target) = nullptr;
};

// Every kernel, in the order of kernels.inc.
const std::vector<Kernel>& AllKernels();

// The Units that `kernel` proposes around `anchor`, whose reference takes it: its cores, their
// first steps of growth, and the largest they grow into. Empty: `why_not` says why.
std::vector<Unit> UnitsAround(const Kernel& kernel, const Engine& engine, const Node& anchor,
                              CandidateSink& sink, Support& why_not);

// Whether `kernel` would run the Nodes, which their references take, as one.
Support CheckUnit(const Kernel& kernel, const Unit& unit);

// Whether the device can run it: the kernel's code, and a Unit of this size.
Support CheckOnDevice(const Kernel& kernel, const Unit& unit, const DeviceInfo& info);

bool IsBeyondFit(const Kernel& kernel, const Unit& unit, const DeviceInfo& info);

// What the Unit costs when its operands lie as the Candidate says.
Cost PriceOf(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
             const Target& target);

}  // namespace onnx_cudnn
