// How a model will run on a Target, and why: data, for tools to print.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/build_program.h"
#include "passes/explain/edges.h"
#include "passes/explain/memory_report.h"

namespace onnx_cudnn {

// A Value at a Partition's border.
struct OperandReport {
  std::string value, type, format;  // "conv1_out", "f32[1,64,56,56]", "NHWC"
};

struct PartitionReport {
  std::string engine, variant;
  std::vector<std::string> nodes, ops;  // names (of an output where there is none), op types
  std::vector<OperandReport> inputs, outputs;
  Cost cost;            // predicted
  double floor_us = 0;  // of its Nodes as one unit at the device's peaks
  int stream = 0;
  bool launches = true;
};

// What one Format costs: bytes that are moved to reach it, or padding that is moved with it.
struct FormatCost {
  std::string kind;  // "Reformat", "Transfer", "padding"
  std::string value, from, to;
  int64_t bytes = 0;  // read and written; of padding: the lanes that are not elements
  double us = 0;
};

struct Totals {
  int launches = 0;
  double us = 0, floor_us = 0, format_us = 0;
  int64_t flops = 0, bytes = 0, format_bytes = 0;
};

// What a Session copies around a Program in each Run, beside its Partitions' time: inputs and
// outputs from and to the caller's tensors. A Binding to tensors of the device copies nothing.
struct CallersCopies {
  int64_t bytes = 0;     // of the inputs and outputs
  double device_us = 0;  // where the caller's tensors lie in the device's memory
  double host_us = 0;    // where they lie in the host's: over the bus
};

struct Explanation {
  std::string target;
  std::string prices;  // what they rest on; empty: on measurements of the target
  int streams = 1;
  std::vector<PartitionReport> partitions;  // in the order of launch
  std::vector<EdgeReport> edges;            // those between Partitions
  std::vector<FormatCost> formats;
  Totals totals;
  CallersCopies copies;  // none on the CPU device
  MemoryReport memory;
};

// Builds the Program of `graph` and explains it. Arguments and errors as BuildProgram's.
absl::StatusOr<Explanation> Explain(const Graph& graph,
                                    const std::map<std::string, Dims, std::less<>>& input_dims,
                                    const Target& target, BuildOptions options);

// "NCHW", "NHWC", "NHWC4" (channels padded to 4), "row-major", or the axes of another Format
// (Format:: ToString); ", host" behind it where the bytes lie there.
std::string FormatName(const Placement& placement, absl::Span<const int64_t> dims);

}  // namespace onnx_cudnn
