#include "passes/place_steps.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The location of a Value. kArena: `index` is a buffer of the Space's arena.
struct Home {
  Operand::Kind kind = Operand::Kind::kArena;
  Space space = Space::kDevice;
  int index = 0;
  int64_t offset = 0;  // into the caller's tensor
};

// The buffers of one Space, and which Steps use which bytes.
class Arena {
 public:
  const std::vector<Buffer>& buffers() const { return buffers_; }

  int Add(int64_t bytes, int writer) {
    buffers_.push_back({.bytes = bytes, .writers = {writer}});
    root_.push_back(static_cast<int>(root_.size()));
    users_.push_back({writer});
    return root_.back();
  }
  void AddReader(int buffer, int step) {
    buffers_[buffer].readers.push_back(step);
    users_[Root(buffer)].push_back(step);
  }
  // The buffer that `buffer` ultimately aliases.
  int Root(int buffer) {
    while (root_[buffer] != buffer) buffer = root_[buffer] = root_[root_[buffer]];
    return buffer;
  }
  // Makes `view`, not an alias yet, an alias of `other`.
  void AddView(int view, int other, int64_t offset) {
    std::vector<int>& users = users_[Root(other)];
    users.insert(users.end(), users_[view].begin(), users_[view].end());
    Alias(view, other, offset);
  }
  // Makes `output`, not an alias yet, an alias of `input`, whose other users all run before the
  // Step that writes `output` and therefore before all later Steps.
  void Overwrite(int output, int input, int64_t offset) {
    users_[Root(input)] = std::move(users_[output]);
    Alias(output, input, offset);
  }
  // Steps that use the bytes of a root, the latest last.
  const std::vector<int>& Users(int root) const { return users_[root]; }

 private:
  void Alias(int buffer, int other, int64_t offset) {
    buffers_[buffer].alias = BufferAlias{other, offset};
    root_[buffer] = Root(other);
  }

  std::vector<Buffer> buffers_;
  std::vector<int> root_;                // the parent in a union-find forest
  std::vector<std::vector<int>> users_;  // by root
};

class Placer {
 public:
  Placer(const Graph& graph, absl::Span<const Partition> partitions) : partitions_(partitions) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      homes_[graph.inputs()[i]] = {.kind = Operand::Kind::kInput, .index = static_cast<int>(i)};
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      output_index_[graph.outputs()[i].value] = static_cast<int>(i);
    }
    for (const Partition& p : partitions) boundaries_.push_back(BoundaryOf(p.chosen.nodes));
  }

  absl::StatusOr<Placed> Run(absl::Span<const std::vector<int>> predecessors, int streams,
                             int64_t alignment) {
    Placed placed;
    const int count = static_cast<int>(partitions_.size());
    placed.schedule = MakeSchedule(predecessors, streams);
    const StepOrder order(placed.schedule, count);
    for (int i = 0; i < count; ++i) RETURN_IF_ERROR(FindHomes(i));
    for (int i = 0; i < count; ++i) TakeInPlace(i, order);
    for (int i = 0; i < count; ++i) AddWorkspace(i);
    const std::vector<Buffer>& device = arena(Space::kDevice).buffers();
    ASSIGN_OR_RETURN(placed.memory, PlanMemory(device, order, alignment));
    ASSIGN_OR_RETURN(placed.host_memory,
                     PlanMemory(arena(Space::kHost).buffers(), order, alignment));
    placed.peak_bytes = PeakBytes(device, order);
    for (int i = 0; i < count; ++i) placed.steps.push_back(MakeStep(i, placed));
    return placed;
  }

 private:
  Arena& arena(Space space) { return arenas_[static_cast<int>(space)]; }

  int64_t BytesOfOutput(int step, int k) const {
    return partitions_[step].chosen.outputs[k].format.bytes(boundaries_[step].outputs[k]->dtype());
  }

  static const Alias* RequiredAlias(const Step& step, int output) {
    for (const Alias& alias : step.aliases()) {
      const bool is_view = alias.required && alias.kind == Alias::Kind::kOutputInInput;
      if (is_view && alias.output == output) return &alias;
    }
    return nullptr;
  }

  absl::Status FindHomes(int i) {
    const Boundary& boundary = boundaries_[i];
    for (const Value* v : boundary.inputs) {
      const Home& home = homes_.at(v);
      if (home.kind == Operand::Kind::kArena) arena(home.space).AddReader(home.index, i);
    }
    for (int k = 0; k < static_cast<int>(boundary.outputs.size()); ++k) {
      const Value* v = boundary.outputs[k];
      const Alias* view = RequiredAlias(*partitions_[i].step, k);
      auto output = output_index_.find(v);
      if (output != output_index_.end()) {
        if (view != nullptr) {
          return absl::InternalError(absl::StrCat(Where(*v->producer()), ": graph output \"",
                                                  v->name(), "\" was made a view"));
        }
        homes_[v] = {.kind = Operand::Kind::kOutput, .index = output->second};
      } else if (view != nullptr) {
        homes_[v] = ViewOf(i, k, *view);
      } else {
        const Space space = partitions_[i].chosen.outputs[k].space;
        homes_[v] = {.space = space, .index = arena(space).Add(BytesOfOutput(i, k), i)};
      }
    }
    for (const Alias& alias : partitions_[i].step->aliases()) {
      if (alias.kind == Alias::Kind::kInputInOutput) RETURN_IF_ERROR(LayInOutput(i, alias));
    }
    return absl::OkStatus();
  }

  // Moves an input, which has its own bytes in an arena, to its offset in the output.
  absl::Status LayInOutput(int i, const Alias& alias) {
    const Value& value = *boundaries_[i].inputs[alias.input];
    const Home& in = homes_.at(&value);
    const Home& out = homes_.at(boundaries_[i].outputs[alias.output]);
    Arena& a = arena(out.space);
    if (in.kind != Operand::Kind::kArena || out.kind != Operand::Kind::kArena ||
        in.space != out.space || a.Root(in.index) != in.index) {
      return absl::InternalError(absl::StrCat(Where(*partitions_[i].chosen.nodes[0]), ": input \"",
                                              value.name(), "\" cannot lie in its output"));
    }
    a.AddView(in.index, out.index, alias.offset);
    return absl::OkStatus();
  }

  // A view of a caller's tensor is an address in it; a view of arena bytes is an alias.
  Home ViewOf(int i, int k, const Alias& view) {
    Home home = homes_.at(boundaries_[i].inputs[view.input]);
    if (home.kind != Operand::Kind::kArena) {
      home.offset += view.offset;
      return home;
    }
    Arena& a = arena(home.space);
    const int buffer = a.Add(BytesOfOutput(i, k), i);
    a.AddView(buffer, home.index, view.offset);
    return {.space = home.space, .index = buffer};
  }

  void TakeInPlace(int i, const StepOrder& order) {
    for (const Alias& alias : partitions_[i].step->aliases()) {
      if (alias.required) continue;
      const Home& out = homes_.at(boundaries_[i].outputs[alias.output]);
      const Home& in = homes_.at(boundaries_[i].inputs[alias.input]);
      if (MayOverwrite(i, alias, in, out, order)) {
        arena(out.space).Overwrite(out.index, in.index, alias.offset);
      }
    }
  }

  bool MayOverwrite(int i, const Alias& alias, const Home& in, const Home& out,
                    const StepOrder& order) {
    if (in.kind != Operand::Kind::kArena || out.kind != Operand::Kind::kArena) return false;
    Arena& a = arena(out.space);
    if (in.space != out.space || a.Root(out.index) != out.index) return false;
    const int64_t room = a.buffers()[in.index].bytes - alias.offset;
    if (a.buffers()[out.index].bytes > room) return false;
    const int root = a.Root(in.index);
    for (const Value* v : boundaries_[i].inputs) {
      if (v == boundaries_[i].inputs[alias.input]) continue;
      const Home& other = homes_.at(v);
      const bool in_arena = other.kind == Operand::Kind::kArena && other.space == in.space;
      if (in_arena && a.Root(other.index) == root) return false;
    }
    const std::vector<int>& users = a.Users(root);
    return std::all_of(users.rbegin(), users.rend(),
                       [&](int user) { return user == i || order.HappensBefore(user, i); });
  }

  // The Space in which the Step computes: that of its outputs.
  Space SpaceOf(int i) const {
    const Candidate& chosen = partitions_[i].chosen;
    if (!chosen.outputs.empty()) return chosen.outputs[0].space;
    return chosen.inputs.empty() ? Space::kDevice : chosen.inputs[0].space;
  }

  void AddWorkspace(int i) {
    const int64_t bytes = partitions_[i].step->workspace_bytes();
    workspaces_.push_back(bytes == 0 ? -1 : arena(SpaceOf(i)).Add(bytes, i));
  }

  Operand OperandOf(const Value& value, const Placement& placement, const Placed& placed) const {
    const Home& home = homes_.at(&value);
    Operand operand{.kind = home.kind,
                    .space = home.space,
                    .index = home.index,
                    .offset = home.offset,
                    .bytes = placement.format.bytes(value.dtype())};
    if (home.kind != Operand::Kind::kArena) return operand;
    const MemoryPlan& plan = home.space == Space::kHost ? placed.host_memory : placed.memory;
    operand.offset = plan.offsets[home.index];
    operand.index = 0;
    return operand;
  }

  PlacedStep MakeStep(int i, const Placed& placed) const {
    const Candidate& chosen = partitions_[i].chosen;
    const Boundary& boundary = boundaries_[i];
    PlacedStep step{.space = SpaceOf(i)};
    for (size_t k = 0; k < boundary.inputs.size(); ++k) {
      step.in.push_back(OperandOf(*boundary.inputs[k], chosen.inputs[k], placed));
    }
    for (size_t k = 0; k < boundary.outputs.size(); ++k) {
      step.out.push_back(OperandOf(*boundary.outputs[k], chosen.outputs[k], placed));
    }
    for (const Derived& derived : partitions_[i].step->constants()) {
      ConstantUse use{.derived = &derived};
      for (const int from : derived.from) {
        use.sources.push_back(boundary.constants[from]->constant());
      }
      step.constants.push_back(std::move(use));
    }
    const MemoryPlan& plan = step.space == Space::kHost ? placed.host_memory : placed.memory;
    if (workspaces_[i] >= 0) step.workspace_offset = plan.offsets[workspaces_[i]];
    return step;
  }

  absl::Span<const Partition> partitions_;
  std::vector<Boundary> boundaries_;
  absl::flat_hash_map<const Value*, Home> homes_;
  absl::flat_hash_map<const Value*, int> output_index_;
  Arena arenas_[2];              // by Space
  std::vector<int> workspaces_;  // by Step: a buffer of its Space; -1: none
};

}  // namespace

absl::StatusOr<Placed> PlaceSteps(const Graph& graph, absl::Span<const Partition> partitions,
                                  absl::Span<const std::vector<int>> predecessors, int streams,
                                  int64_t alignment) {
  return Placer(graph, partitions).Run(predecessors, streams, alignment);
}

}  // namespace onnx_cudnn
