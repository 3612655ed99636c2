#include "passes/build_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/partition/partition_order.h"
#include "passes/partition/saved_cover.h"
#include "passes/place_steps.h"
#include "runtime/base/host_span.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Stretches that follow each other, as HostScopes.
class Laps {
 public:
  explicit Laps(const char* first) { scope_.emplace(first); }
  // Ends the stretch and begins `next`; nullptr: none. Returns its milliseconds.
  double Next(const char* next) {
    scope_.reset();
    if (next != nullptr) scope_.emplace(next);
    const absl::Time before = std::exchange(last_, absl::Now());
    return absl::ToDoubleMilliseconds(last_ - before);
  }

 private:
  std::optional<HostScope> scope_;
  absl::Time last_ = absl::Now();
};

// Sorts the Partitions topologically. Returns the predecessors of each, all smaller.
absl::StatusOr<std::vector<std::vector<int>>> SortPartitions(std::vector<Partition>& partitions) {
  std::vector<const Candidate*> candidates;
  for (const Partition& p : partitions) candidates.push_back(&p.chosen);
  const PartitionOrder found = OrderPartitions(candidates);
  if (!found.cycle.empty()) return absl::InternalError("partitions wait for each other");
  std::vector<int> rank(partitions.size());
  std::vector<Partition> sorted;
  std::vector<std::vector<int>> predecessors;
  for (const int i : found.order) {
    rank[i] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(partitions[i]));
    std::vector<int> before;
    for (const int p : found.predecessors[i]) before.push_back(rank[p]);
    std::sort(before.begin(), before.end());
    predecessors.push_back(std::move(before));
  }
  partitions = std::move(sorted);
  return predecessors;
}

// Orders them as the Graph's Nodes, so that equal Graphs give equal Programs, independent of the
// order of the search.
void SortByGraph(const Graph& graph, std::vector<Partition>& partitions) {
  std::vector<int> position(graph.node_ids());
  int next = 0;
  for (const Node* node : graph.TopologicalOrder()) position[node->id()] = next++;
  const auto before = [&](const Partition& a, const Partition& b) {
    return position[a.chosen.nodes[0]->id()] < position[b.chosen.nodes[0]->id()];
  };
  if (std::is_sorted(partitions.begin(), partitions.end(), before)) return;
  std::stable_sort(partitions.begin(), partitions.end(), before);
}

// Bytes of the distinct constants that Steps use, as stored in the model.
int64_t WeightBytes(const std::vector<PlacedStep>& steps) {
  std::map<const void*, int64_t> bytes;
  for (const PlacedStep& step : steps) {
    for (const ConstantUse& use : step.constants) {
      for (const HostTensor& tensor : use.sources) bytes[tensor.raw()] = tensor.bytes();
    }
  }
  int64_t total = 0;
  for (const auto& [data, size] : bytes) total += size;
  return total;
}

// Tries fewer streams if necessary, since fewer Values are then live at once.
absl::StatusOr<Placed> PlaceWithin(const Graph& graph, absl::Span<const Partition> partitions,
                                   absl::Span<const std::vector<int>> predecessors,
                                   const Target& target, const BuildOptions& options) {
  for (int streams = std::max(options.streams, 1);; streams = (streams + 1) / 2) {
    ASSIGN_OR_RETURN(Placed placed,
                     PlaceSteps(graph, partitions, predecessors, streams, options.alignment));
    const int64_t bytes =
        placed.memory.arena_bytes + placed.host_memory.arena_bytes + WeightBytes(placed.steps);
    if (bytes <= target.max_bytes) return placed;
    if (streams == 1) {
      return absl::ResourceExhaustedError(absl::StrCat("weights and arena take ", bytes,
                                                       " bytes, the limit is ", target.max_bytes));
    }
  }
}

std::string Describe(const Partition& partition, const ScheduledStep& scheduled) {
  return absl::StrCat(partition.chosen.engine->name(), " {",
                      absl::StrJoin(partition.chosen.nodes, " ",
                                    [](std::string* out, const Node* n) { out->append(n->op()); }),
                      "} stream ", scheduled.stream);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> BuildProgram(
    const Graph& graph, const std::map<std::string, Dims, std::less<>>& input_dims,
    const Target& target, const BuildOptions& options) {
  BuildTimes unread;
  BuildTimes& times = options.times == nullptr ? unread : *options.times;
  Laps laps("bind and fold");
  auto program = std::make_shared<Program>();
  const double folded_ms = times.fold_ms;
  ASSIGN_OR_RETURN(program->graph, BindShapes(graph, input_dims, options, &target));
  times.bind_ms += laps.Next("partition") - (times.fold_ms - folded_ms);
  Refusals refused;
  double compile_ms = 0;
  ASSIGN_OR_RETURN(program->partitions,
                   PartitionGraph(program->graph, target, options.partitioner, options.remarks,
                                  {.pins = options.pins,
                                   .refused = &refused,
                                   .pricer = options.pricer,
                                   .avoided_engines = options.avoided_engines,
                                   .cover = options.cover,
                                   .compile_ms = &compile_ms}));
  if (options.saves_cover) program->cover = CoverToText(program->partitions, target);
  times.partition_ms += laps.Next("plan") - compile_ms;
  times.compile_ms += compile_ms;
  if (options.on_partitions) {
    options.on_partitions(program->graph, program->partitions, refused);
  }
  RETURN_IF_ERROR(MaterializeFormats(program->graph, program->partitions, target));
  SortByGraph(program->graph, program->partitions);
  ASSIGN_OR_RETURN(const std::vector<std::vector<int>> predecessors,
                   SortPartitions(program->partitions));
  ASSIGN_OR_RETURN(Placed placed,
                   PlaceWithin(program->graph, program->partitions, predecessors, target, options));
  program->steps = std::move(placed.steps);
  program->schedule = std::move(placed.schedule);
  program->memory = std::move(placed.memory);
  program->host_memory = std::move(placed.host_memory);
  program->peak_bytes = placed.peak_bytes;
  program->weight_bytes = WeightBytes(program->steps);
  for (const ScheduledStep& s : program->schedule.steps) {
    program->remarks.push_back(Describe(program->partitions[s.step], s));
  }
  times.plan_ms += laps.Next(nullptr);
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace onnx_cudnn
