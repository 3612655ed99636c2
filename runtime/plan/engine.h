// Engines say what they could run and at what price; the search chooses (passes/partition).
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
  std::vector<const Engine*> engines;  // in order of preference at equal price
  Numerics numerics;
  int64_t max_bytes = int64_t{1} << 62;  // over weights, arena and Executors
};

struct Placement {
  Format format;
  Space space = Space::kDevice;
  bool operator==(const Placement&) const = default;
};

// Nodes that one Engine could run as one unit. Constants have no Placement: each is the Engine's
// own Derived.
struct Candidate {
  std::vector<const Node*> nodes;  // in topological order
  const Engine* engine = nullptr;
  std::vector<Placement> inputs, outputs;  // parallel to BoundaryOf(nodes)
  Cost cost;
  // Its price is beyond what was measured, and smaller Candidates are taken to be faster: a search
  // by price may choose it and the tuner may time it; greedy, which takes the largest, does not.
  bool beyond_fit = false;
};

// What an Engine may choose in running a Candidate: "engine 41, k2=0", "split_k=4".
struct Variant {
  std::string text;
};

// A Step, or the reason why this Variant cannot be.
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

// Why two Nodes stay apart, and what would change that. String literals.
struct Rule {
  std::string_view says;
  std::string_view remedy;
};

class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual void Add(Candidate candidate) = 0;
  virtual void No(const Engine& engine, const Node& node, std::string reason) = 0;
  // `engine` grew a Candidate up to `edge` and did not take `node` beyond it, the edge's producer
  // or one of its readers.
  virtual void NotFused(const Engine& /*engine*/, const Value& /*edge*/, const Node& /*node*/,
                        const Rule& /*rule*/) {}
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version() const { return "rules"; }
  // Every Candidate around `anchor` with its price; pure, takes microseconds. A no names the rule
  // that it comes from.
  virtual void Propose(const Graph& graph, const Node& anchor, const Target& target,
                       CandidateSink& sink) const = 0;
  virtual Support Check(const Graph& graph, const Candidate& candidate,
                        const Target& target) const = 0;  // pure
  virtual Cost Price(const Candidate& candidate,
                     const Target& target) const;  // pure; the roofline unless overridden
  // What the library offers, the best first.
  virtual absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                        const Target& target) const;
  // Thread-safe. A refusal is an answer; a Status is a failure.
  virtual absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                           const Target& target) const = 0;
  virtual absl::StatusOr<std::shared_ptr<const Step>> Load(
      std::string_view saved) const;  // Unimplemented unless overridden
};

// To what multiples `channels` are worth padding: 1, then those that add some and give other
// extents.
std::vector<int64_t> ChannelMultiples(int64_t channels, DType dtype);

// The Formats in which Engines propose to take `value`, each once: row-major, then channels-last
// with each of the multiples. Without a GPU row-major alone, since the host's Steps want that.
std::vector<Format> FormatChoices(const Value& value, const Target& target);

// A Candidate of one row-major Node in `space`, priced: what `host` and `view` propose.
Candidate RowMajorCandidate(const Engine& engine, const Node& node, Space space,
                            const Target& target);

// What a Step is compiled for: engine and version, device, Numerics, byte limit, ops, attributes,
// shapes, dtypes, Placements. Constants of 32- and 64-bit integers and bools, and those of one
// element, stand by value, others (weights) by type and shape; Node and Value names never.
std::string Signature(const Candidate& candidate, const Target& target);

// What an implementation makes of a device.
struct Efficiency {
  double arithmetic = 1;  // parts of the peaks that it reaches
  double traffic = 1;
  double fixed_us = 0;  // what it takes beyond a launch, however little there is to do
};

// max(flops at the rate of the dtype, bytes of the boundary in its Formats and of the constants) +
// one launch. With the default efficiency: the floor, below which nothing is.
Cost Roofline(const Candidate& candidate, const Target& target, const Efficiency& efficiency = {});

}  // namespace onnx_cudnn
