#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/engine.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/schedule.h"

namespace onnx_cudnn {

// A chosen Candidate.
struct Partition {
  Candidate chosen;
  Variant variant;
  std::shared_ptr<const Step> step;
};

// Location of a Step's operand.
struct Operand {
  enum class Kind : uint8_t { kArena, kInput, kOutput };
  Kind kind = Kind::kArena;
  Space space = Space::kDevice;  // selects the arena
  int index = 0;                 // kInput, kOutput: index among the Graph's inputs or outputs
  int64_t offset = 0;            // bytes into the arena or the caller's tensor
  int64_t bytes = 0;
};

// A constant operand: the source of a Step's Derived in this Partition.
struct ConstantUse {
  std::vector<HostTensor> sources;
  const Derived* derived;  // owned by the Step
};

// A Step with its memory; parallel to Program::partitions.
struct PlacedStep {
  std::vector<Operand> in, out;
  std::vector<ConstantUse> constants;
  Space space = Space::kDevice;  // of the workspace
  int64_t workspace_offset = 0;
};

// Everything needed to run one set of input shapes. Immutable.
struct Program {
  Graph graph;  // static; the Partitions point to its Nodes
  std::vector<Partition> partitions;
  std::vector<PlacedStep> steps;
  Schedule schedule;
  MemoryPlan memory, host_memory;  // one per Space
  int64_t peak_bytes = 0;          // lower bound of memory.arena_bytes
  int64_t weight_bytes = 0;        // of the constants that Steps use, as stored in the model
  std::vector<std::string> remarks;
  std::string cover;  // for the plan cache (passes/partition/saved_cover.h); empty: not asked for
};

}  // namespace onnx_cudnn
