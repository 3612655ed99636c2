#include "runtime/session/network_benchmark.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/sha1.h"
#include "runtime/base/status.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/executor.h"

namespace onnx_cudnn {
namespace {

constexpr SearchStrategy kWays[] = {
    {.name = "cost", .partitioner = CostSearch},
    {.name = "cost, libraries x 1.15", .partitioner = CostSearch, .library_factor = 1.15},
    {.name = "greedy", .partitioner = Greedy},
};
constexpr int kRounds = 3;
constexpr double kRoundMs = 20;
constexpr double kLeastRuns = 3, kMostRuns = 20;  // of a round
constexpr int64_t kZeroBytes = int64_t{1} << 20;  // that are pinned

bool IsLibrary(std::string_view engine) { return engine == "cudnn" || engine == "gemm"; }

// A Signature begins with its Engine's name.
std::string_view EngineIn(std::string_view signature) {
  return signature.substr(0, signature.find(' '));
}

// A Program with memory of its own.
class Runner {
 public:
  static absl::StatusOr<Runner> Create(std::shared_ptr<const Program> program, Device& device,
                                       ConstantStore& constants, bool capture) {
    Runner runner;
    const Graph& graph = program->graph;
    for (const Value* input : graph.inputs()) RETURN_IF_ERROR(runner.AddInput(*input, device));
    for (const GraphOutput& output : graph.outputs()) {
      ASSIGN_OR_RETURN(runner.memory_.emplace_back(),
                       device.Allocate(output.value->bytes(), Space::kDevice));
      runner.outputs_.push_back(runner.memory_.back().get());
    }
    ASSIGN_OR_RETURN(runner.executor_,
                     Executor::Create(std::move(program), device, constants,
                                      {.capture = capture, .fixed_pointers = true}));
    return runner;
  }

  // Of a round's runs.
  absl::StatusOr<double> MedianMs() {
    const double runs = std::clamp(kRoundMs / last_ms_, kLeastRuns, kMostRuns);
    ASSIGN_OR_RETURN(std::vector<double> ms,
                     executor_->Time(inputs_, outputs_, static_cast<int>(runs)));
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    return last_ms_ = std::max(ms[ms.size() / 2], 1e-3);
  }

 private:
  // Zeros: indices are in range then.
  absl::Status AddInput(const Value& input, Device& device) {
    if (input.dtype() == DType::kString) {
      return absl::UnimplementedError("networks with inputs of strings are not timed");
    }
    const int64_t bytes = input.bytes();
    ASSIGN_OR_RETURN(memory_.emplace_back(), device.Allocate(bytes, Space::kDevice));
    inputs_.push_back(memory_.back().get());
    if (bytes == 0) return absl::OkStatus();
    const int64_t block = std::min(bytes, kZeroBytes);
    ASSIGN_OR_RETURN(const auto zeros, device.Allocate(block, Space::kHost));
    std::fill_n(zeros.get(), block, std::byte{0});
    ASSIGN_OR_RETURN(const auto streams, device.CreateStreams(1));
    absl::Status copied = absl::OkStatus();
    for (int64_t at = 0; at < bytes && copied.ok(); at += block) {
      copied =
          streams->Copy(0, memory_.back().get() + at, zeros.get(), std::min(block, bytes - at));
    }
    const absl::Status done = streams->Synchronize();
    RETURN_IF_ERROR(copied);
    return done;
  }

  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::unique_ptr<Executor> executor_;
  double last_ms_ = kRoundMs;
};

}  // namespace

absl::Span<const SearchStrategy> SearchStrategies() { return kWays; }

std::optional<double> WeightedPricer::MeasuredUs(const std::string& signature) const {
  const std::optional<double> us = pricer_.MeasuredUs(signature);
  if (!us.has_value() || !IsLibrary(EngineIn(signature))) return us;
  return *us * library_factor_;
}

absl::StatusOr<std::vector<Choice>> WeightedPricer::Choose(
    absl::Span<const Candidate* const> candidates) {
  ASSIGN_OR_RETURN(std::vector<Choice> choices, pricer_.Choose(candidates));
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].us.has_value() && IsLibrary(candidates[i]->engine->name())) {
      *choices[i].us *= library_factor_;
    }
  }
  return choices;
}

std::string NetworkSignature(const Graph& graph, const Target& target, int streams) {
  Candidate whole{.engine = target.engines.front()};
  for (const Node* node : graph.TopologicalOrder()) whole.nodes.push_back(node);
  const Boundary boundary = BoundaryOf(whole.nodes);
  whole.inputs.resize(boundary.inputs.size());
  whole.outputs.resize(boundary.outputs.size());
  Sha1 hash;
  hash.Update(Signature(whole, target));
  for (const Engine* engine : target.engines) {
    hash.Update(absl::StrCat(engine->name(), " ", engine->version(), "\n"));
  }
  return absl::StrCat("network of ", whole.nodes.size(), " nodes, ", streams, " streams, ",
                      hash.HexDigest());
}

bool SameCandidates(const Program& a, const Program& b, const Target& target) {
  return std::equal(a.partitions.begin(), a.partitions.end(), b.partitions.begin(),
                    b.partitions.end(), [&](const Partition& x, const Partition& y) {
                      return Signature(x.chosen, target) == Signature(y.chosen, target);
                    });
}

bool SameVariants(const Program& a, const Program& b) {
  return std::equal(
      a.partitions.begin(), a.partitions.end(), b.partitions.begin(), b.partitions.end(),
      [](const Partition& x, const Partition& y) { return x.variant.text == y.variant.text; });
}

absl::StatusOr<std::vector<double>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    const std::atomic<bool>* cancel) {
  const auto check = [&] {
    const bool cancelled = cancel != nullptr && *cancel;
    return cancelled ? absl::CancelledError("timing of whole networks") : absl::OkStatus();
  };
  ConstantStore constants(device);  // forms of those that lose are gone with it
  std::vector<Runner> runners;
  for (const auto& program : programs) {
    RETURN_IF_ERROR(check());
    ASSIGN_OR_RETURN(Runner runner, Runner::Create(program, device, constants, capture));
    runners.push_back(std::move(runner));
  }
  std::vector<double> least(programs.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      RETURN_IF_ERROR(check());
      ASSIGN_OR_RETURN(const double ms, runners[i].MedianMs());
      least[i] = std::min(least[i], ms);
    }
  }
  return least;
}

}  // namespace onnx_cudnn
