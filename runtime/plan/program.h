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

// Where an operand of a Step lies.
struct Operand {
  enum class Kind : uint8_t { kArena, kInput, kOutput };
  Kind kind = Kind::kArena;
  Space space = Space::kDevice;  // which arena
  int index = 0;                 // kInput, kOutput: which of the Graph's
  int64_t offset = 0;            // bytes into the arena or the caller's tensor
  int64_t bytes = 0;
};

// A constant operand: what the Step's Derived is made from for this Partition.
struct ConstantUse {
  std::vector<HostTensor> sources;
  const Derived* derived;  // the Step's
};

// One Step at its place; parallel to Program::partitions.
struct PlacedStep {
  std::vector<Operand> in, out;
  std::vector<ConstantUse> constants;
  Space space = Space::kDevice;  // of the workspace
  int64_t workspace_offset = 0;
};

// Everything for one set of input shapes. Immutable.
struct Program {
  Graph graph;  // static; its Nodes are what the Partitions point to
  std::vector<Partition> partitions;
  std::vector<PlacedStep> steps;
  Schedule schedule;
  MemoryPlan memory, host_memory;  // one a Space
  int64_t peak_bytes = 0;          // lower bound of memory.arena_bytes
  int64_t weight_bytes = 0;        // of the constants that Steps use, as the model holds them
  std::vector<std::string> remarks;
};

}  // namespace onnx_cudnn
