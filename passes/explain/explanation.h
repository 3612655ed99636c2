// How a model will run on a Target, and why. Plain data for tools to print.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
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
  // Names (the first output's where a Node has none), op types.
  std::vector<std::string> nodes, ops;
  std::vector<std::pair<int, int>> links;  // of `nodes`: one reads what the other writes
  std::vector<OperandReport> inputs, outputs;
  Cost cost;            // predicted
  double floor_us = 0;  // lower bound: its Nodes as one kernel at the device's peaks
  int stream = 0;
  bool launches = true;
  std::vector<LostCandidate> lost;  // over the same Nodes, the cheapest first
};

// What one Format costs: bytes moved to convert to it, or padding moved along with it.
struct FormatCost {
  std::string kind;  // "Reformat", "Transfer", "padding"
  std::string value, from, to;
  int64_t bytes = 0;  // read and written; for padding: the padding lanes alone
  double us = 0;
};

struct Totals {
  int launches = 0;
  double us = 0, floor_us = 0, format_us = 0;
  int64_t flops = 0, bytes = 0, format_bytes = 0;
};

// What a Session copies before and after the Program in each Run, in addition to the Partitions'
// time: inputs from and outputs to the caller's tensors. A Binding to device tensors copies
// nothing.
struct CallersCopies {
  int64_t bytes = 0;     // of all inputs and outputs
  double device_us = 0;  // if the caller's tensors are in device memory
  double host_us = 0;    // if they are in host memory: over the bus
};

// Of a device, for a roofline plot.
struct DevicePeaks {
  double f16_flops_per_us = 0, tf32_flops_per_us = 0, f32_flops_per_us = 0, bytes_per_us = 0;
};

struct Explanation {
  std::string target;
  std::string prices;  // source of the prices; empty: measured on the target
  DevicePeaks peaks;
  int streams = 1;
  std::vector<PartitionReport> partitions;  // in launch order
  std::vector<EdgeReport> edges;            // those between Partitions
  std::vector<FormatCost> formats;
  Totals totals;
  CallersCopies copies;  // zero on the CPU device
  MemoryReport memory;
};

// Builds the Program of `graph` and explains it. Arguments and errors as for BuildProgram.
absl::StatusOr<Explanation> Explain(const Graph& graph,
                                    const std::map<std::string, Dims, std::less<>>& input_dims,
                                    const Target& target, BuildOptions options);

// "NCHW", "NHWC", "NHWC4" (channels padded to 4), "NHWC^256" (pixels are 256 lanes apart, between
// which others lie), "row-major", or the axes of another Format (Format::ToString), followed by
// ", host" if the bytes are in host memory.
std::string FormatName(const Placement& placement, absl::Span<const int64_t> dims);

}  // namespace onnx_cudnn
