// Engines propose what they can run and at what price; the search chooses (passes/partition).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/op_def.h"
#include "runtime/plan/device_info.h"
#include "runtime/plan/step.h"

namespace onnx_cudnn {

class Engine;

struct Target {
  DeviceInfo info;
  std::vector<const Engine*> engines;  // by preference at equal price
  Numerics numerics;
  int64_t max_bytes = int64_t{1} << 62;  // limit for weights, arena and Executors together
  // For a Program that serves few Runs: of a library's algorithms, those come first whose kernels
  // have been launched, since the first launch of a kernel loads it.
  bool prefers_launched = false;
};

struct Placement {
  Format format;
  Space space = Space::kDevice;
  bool operator==(const Placement&) const = default;
};

// Nodes that one Engine can run as one unit. Constants have no Placement, because the Engine
// converts them itself (Derived).
struct Candidate {
  std::vector<const Node*> nodes;  // in topological order
  const Engine* engine = nullptr;
  std::vector<Placement> inputs, outputs;  // parallel to BoundaryOf(nodes)
  Cost cost;
  // Its price is outside the measured range, and smaller Candidates are assumed to be faster: a
  // search by price may choose it and the tuner may time it; greedy, which prefers the largest,
  // does not, except for a single Node that only `host` would run.
  bool beyond_fit = false;
};

// A choice of the Engine for running a Candidate: "engine 41, k2=0", "split_k=4".
struct Variant {
  std::string text;
};

// A Step, or the reason why this Variant cannot be compiled.
class Compiled {
 public:
  static Compiled As(std::shared_ptr<const Step> step) {
    Compiled compiled;
    compiled.step_ = std::move(step);
    return compiled;
  }
  static Compiled No(std::string reason) {
    Compiled compiled;
    compiled.reason_ = std::move(reason);
    return compiled;
  }
  const std::shared_ptr<const Step>& step() const { return step_; }  // nullptr: refused
  const std::string& reason() const { return reason_; }

 private:
  std::shared_ptr<const Step> step_;
  std::string reason_;
};

// Why two Nodes are not fused, and what would change that. String literals.
struct Rule {
  std::string_view says;
  std::string_view remedy;
};

class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual void Add(Candidate candidate) = 0;
  virtual void No(const Engine& engine, const Node& node, std::string reason) = 0;
  // `engine` grew a Candidate up to `edge` and did not add `node`, the edge's producer or one of
  // its readers.
  virtual void NotFused(const Engine& /*engine*/, const Value& /*edge*/, const Node& /*node*/,
                        const Rule& /*rule*/) {}
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version() const { return "rules"; }
  virtual bool launches() const { return true; }  // false: its Steps take no time
  // Proposes every Candidate around `anchor` with its price. Pure and fast (microseconds). A
  // refusal names its rule.
  virtual void Propose(const Graph& graph, const Node& anchor, const Target& target,
                       CandidateSink& sink) const = 0;
  virtual Support Check(const Graph& graph, const Candidate& candidate,
                        const Target& target) const = 0;  // pure
  virtual Cost Price(const Candidate& candidate,
                     const Target& target) const;  // pure; the roofline unless overridden
  // The variants that the library offers, best first.
  virtual absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                        const Target& target) const;
  // Thread-safe. A refusal is a normal result; an error Status is a failure.
  virtual absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                           const Target& target) const = 0;
  // The Step that `saved` (Step::Save) describes, for a Candidate of the Signature of the one that
  // it was compiled for. Thread-safe.
  //   errors  Unimplemented unless overridden; FailedPrecondition: of another version or device
  virtual absl::StatusOr<std::shared_ptr<const Step>> Load(std::string_view saved,
                                                           const Candidate& candidate,
                                                           const Target& target) const;
};

// The multiples to which padding `channels` is worthwhile: 1, then those that add padding and give
// distinct extents.
std::vector<int64_t> ChannelMultiples(int64_t channels, DType dtype);

// The Formats in which Engines propose to take `value`, without duplicates: row-major, then
// channels-last with each of the multiples. Only row-major without a GPU, since Steps on the host
// require it.
std::vector<Format> FormatChoices(const Value& value, const Target& target);

// A priced Candidate of one row-major Node in `space`, as `host` and `view` propose it.
Candidate RowMajorCandidate(const Engine& engine, const Node& node, Space space,
                            const Target& target);

// Identifies what a Step is compiled for: engine and version, device, Numerics, byte limit, ops,
// attributes, shapes, dtypes, Placements. Constants of 32- and 64-bit integers and bools, and those
// of one element, are included by value, others (weights) by type and shape. Names of Nodes and
// Values are not included.
std::string Signature(const Candidate& candidate, const Target& target);

// The efficiency that an implementation reaches on a device.
struct Efficiency {
  double arithmetic = 1;  // shares of the peaks
  double traffic = 1;
  double fixed_us = 0;  // time in addition to a launch, for work of any size
};

// max(flops at the rate of the dtype, bytes of the boundary in its Formats and of the constants) +
// one launch. With the default efficiency it is a lower bound.
Cost Roofline(const Candidate& candidate, const Target& target, const Efficiency& efficiency = {});

}  // namespace onnx_cudnn
