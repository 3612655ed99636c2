#include "passes/explain/memory_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/explain/edges.h"

namespace onnx_cudnn {
namespace {

// In order of first use. A Value in a caller's tensor has no buffer.
std::vector<BufferReport> BuffersOf(const Program& program) {
  std::vector<BufferReport> buffers;
  std::map<const Value*, size_t> buffer_of;
  for (int position = 0; position < static_cast<int>(program.schedule.steps.size()); ++position) {
    const int step = program.schedule.steps[position].step;
    const PlacedStep& placed = program.steps[step];
    const Partition& partition = program.partitions[step];
    const Boundary boundary = BoundaryOf(partition.chosen.nodes);
    for (const Value* v : boundary.inputs) {
      const auto it = buffer_of.find(v);
      if (it != buffer_of.end()) buffers[it->second].last = position;
    }
    for (size_t k = 0; k < boundary.outputs.size(); ++k) {
      const Operand& out = placed.out[k];
      if (out.kind != Operand::Kind::kArena) continue;
      buffer_of[boundary.outputs[k]] = buffers.size();
      buffers.push_back(
          {boundary.outputs[k]->name(), out.space, out.offset, out.bytes, position, position});
    }
    if (const int64_t bytes = partition.step->workspace_bytes(); bytes > 0) {
      buffers.push_back({absl::StrCat("workspace of ", NameOf(*partition.chosen.nodes[0])),
                         placed.space, placed.workspace_offset, bytes, position, position});
    }
  }
  return buffers;
}

// Bytes covered by at least one of the buffers; aliases overlap.
int64_t UnionBytes(const std::vector<const BufferReport*>& live) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const BufferReport* b : live) ranges.push_back({b->offset, b->offset + b->bytes});
  std::sort(ranges.begin(), ranges.end());
  int64_t bytes = 0, end = 0;
  for (const auto& [from, to] : ranges) {
    bytes += std::max<int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return bytes;
}

std::vector<int64_t> LiveBytes(const std::vector<BufferReport>& buffers, size_t launches) {
  std::vector<int64_t> live_bytes;
  std::vector<const BufferReport*> live;
  auto next = buffers.begin();
  for (int position = 0; position < static_cast<int>(launches); ++position) {
    for (; next != buffers.end() && next->first == position; ++next) {
      if (next->space == Space::kDevice) live.push_back(&*next);
    }
    live_bytes.push_back(UnionBytes(live));
    std::erase_if(live, [&](const BufferReport* b) { return b->last == position; });
  }
  return live_bytes;
}

int64_t TensorBytes(const Value& value) {
  return value.dtype() == DType::kString ? 0 : value.bytes();
}

}  // namespace

MemoryReport ReportMemory(const Program& program, const DeviceInfo& info) {
  MemoryReport report{.weight_bytes = program.weight_bytes,
                      .arena_bytes = program.memory.arena_bytes,
                      .host_arena_bytes = program.host_memory.arena_bytes,
                      .peak_bytes = program.peak_bytes,
                      .buffers = BuffersOf(program),
                      .device_bytes = info.memory_bytes};
  for (const Partition& p : program.partitions) {
    report.workspace_bytes = std::max(report.workspace_bytes, p.step->workspace_bytes());
  }
  report.needed_bytes = report.weight_bytes + report.arena_bytes;
  for (const Value* input : program.graph.inputs()) report.needed_bytes += TensorBytes(*input);
  for (const GraphOutput& output : program.graph.outputs()) {
    report.needed_bytes += TensorBytes(*output.value);
  }
  report.live_bytes = LiveBytes(report.buffers, program.schedule.steps.size());
  return report;
}

}  // namespace onnx_cudnn
