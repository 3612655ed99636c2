#include "runtime/ops/ml/ensemble.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/ops/ml/rows.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};

int64_t TargetsOf(const Node& node, const TreeBranches& trees) {
  if (node.op() == "TreeEnsembleClassifier")
    return std::ssize(IntsOf(node.attrs(), "classlabels_int64s"));
  const int64_t targets = node.attrs().Int("n_targets", 0);
  if (targets > 0) return targets;
  int64_t most = 0;
  for (const TreeVote& vote : trees.votes) most = std::max(most, vote.target);
  return most + 1;
}

absl::Status CheckVotes(const Ensemble& ensemble) {
  for (const TreeVote& vote : ensemble.votes) {
    if (vote.target >= 0 && vote.target < ensemble.targets) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("target ", vote.target, " is out of range, there are ", ensemble.targets));
  }
  return absl::OkStatus();
}

// A base value for the only score may stand alone.
absl::Status ReadBaseValues(const Node& node, Ensemble& ensemble) {
  ensemble.base_values = NumbersOf(node.attrs(), "base_values");
  const auto count = std::ssize(ensemble.base_values);
  if (count == 0 || count == ensemble.targets) return absl::OkStatus();
  if (count == 1 && ensemble.is_one_score) {
    ensemble.base_values.push_back(ensemble.base_values[0]);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("base_values has ", count, " numbers, expected ", ensemble.targets));
}

template <typename T>
absl::Status Flatten(const TreeBranches& trees, Ensemble& ensemble) {
  ASSIGN_OR_RETURN(ensemble.trees, FlatTrees<T>::From(trees));
  return absl::OkStatus();
}

absl::StatusOr<Ensemble> MakeEnsemble(const Node& node) {
  ASSIGN_OR_RETURN(TreeBranches trees,
                   node.op() == "TreeEnsemble" ? BranchesByIndex(node) : BranchesByIds(node));
  Ensemble ensemble;
  ASSIGN_OR_RETURN(ensemble.aggregate, AggregateOf(node));
  ASSIGN_OR_RETURN(ensemble.transform, PostTransformOf(node));
  const DType dtype = node.input(0).dtype();
  const bool is_f64 = trees.is_f64 || (dtype != DType::kF32 && dtype != DType::kF16);
  RETURN_IF_ERROR(is_f64 ? Flatten<double>(trees, ensemble) : Flatten<float>(trees, ensemble));
  ensemble.targets = TargetsOf(node, trees);
  ensemble.first_vote = std::move(trees.first_vote);
  ensemble.votes = std::move(trees.votes);
  RETURN_IF_ERROR(CheckVotes(ensemble));
  const auto& votes = ensemble.votes;
  ensemble.is_one_score =
      node.op() == "TreeEnsembleClassifier" && ensemble.targets == 2 && !votes.empty() &&
      std::all_of(votes.begin(), votes.end(),
                  [&](const TreeVote& vote) { return vote.target == votes[0].target; });
  ensemble.is_probability = std::all_of(votes.begin(), votes.end(),
                                        [](const TreeVote& vote) { return vote.weight >= 0; });
  RETURN_IF_ERROR(ReadBaseValues(node, ensemble));
  return ensemble;
}

template <Aggregate kAggregate>
void AddVote(const TreeVote& vote, double& score) {
  if constexpr (kAggregate == Aggregate::kMin) {
    score = std::min(score, vote.weight);
  } else if constexpr (kAggregate == Aggregate::kMax) {
    score = std::max(score, vote.weight);
  } else {
    score += vote.weight;
  }
}

// Adds the votes of each tree for rows of `x` to `scores`, marking the targets that got one.
template <Aggregate kAggregate, typename T>
void AddTrees(const Ensemble& ensemble, const FlatTrees<T>& trees, absl::Span<const T> x,
              int64_t columns, absl::Span<double> scores, std::vector<bool>& has_vote) {
  std::vector<int32_t> leaves(scores.size() / ensemble.targets);
  for (int64_t tree = 0; tree < trees.trees(); ++tree) {
    trees.Walk(tree, x.data(), columns, absl::MakeSpan(leaves));
    for (size_t r = 0; r < leaves.size(); ++r) {
      const int64_t end = ensemble.first_vote[leaves[r] + 1];
      for (int64_t v = ensemble.first_vote[leaves[r]]; v < end; ++v) {
        const TreeVote& vote = ensemble.votes[v];
        const int64_t at = static_cast<int64_t>(r) * ensemble.targets + vote.target;
        AddVote<kAggregate>(vote, scores[at]);
        if constexpr (kAggregate == Aggregate::kMin || kAggregate == Aggregate::kMax)
          has_vote[at] = true;
      }
    }
  }
}

// Of MIN and MAX, a target without a vote is 0.
template <Aggregate kAggregate, typename T>
void Extreme(const Ensemble& ensemble, const FlatTrees<T>& trees, absl::Span<const T> x,
             int64_t columns, absl::Span<double> scores) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::fill(scores.begin(), scores.end(), kAggregate == Aggregate::kMin ? kInfinity : -kInfinity);
  std::vector<bool> has_vote(scores.size(), false);
  AddTrees<kAggregate>(ensemble, trees, x, columns, scores, has_vote);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!has_vote[i]) scores[i] = 0;
  }
}

template <typename T>
void Sum(const Ensemble& ensemble, const FlatTrees<T>& trees, absl::Span<const T> x,
         int64_t columns, absl::Span<double> scores) {
  std::fill(scores.begin(), scores.end(), 0.0);
  std::vector<bool> unused;
  AddTrees<Aggregate::kSum>(ensemble, trees, x, columns, scores, unused);
  if (ensemble.aggregate != Aggregate::kAverage) return;
  for (double& score : scores) score /= static_cast<double>(trees.trees());
}

struct Registry {
  absl::Mutex mutex;
  absl::flat_hash_map<const Node*, std::weak_ptr<const Ensemble>> of_nodes ABSL_GUARDED_BY(mutex);
};
Registry& Prepared() {
  static Registry& registry = *new Registry;
  return registry;
}

}  // namespace

absl::StatusOr<Aggregate> AggregateOf(const Node& node) {
  if (const auto* number = node.attrs().Get<int64_t>("aggregate_function")) {
    if (*number >= 0 && *number < std::ssize(kAggregates)) return static_cast<Aggregate>(*number);
    return absl::InvalidArgumentError(absl::StrCat(
        "aggregate_function is ", *number, ", expected 0 to ", std::ssize(kAggregates) - 1));
  }
  const std::string name = node.attrs().String("aggregate_function", "SUM");
  const auto* found = std::find(std::begin(kAggregates), std::end(kAggregates), name);
  if (found == std::end(kAggregates))
    return absl::InvalidArgumentError(absl::StrCat("aggregate_function \"", name, "\" is unknown"));
  return static_cast<Aggregate>(found - std::begin(kAggregates));
}

template <typename T>
absl::Status Ensemble::Score(absl::Span<const T> x, int64_t columns,
                             absl::Span<double> scores) const {
  const auto& flat = std::get<FlatTrees<T>>(trees);
  if (columns < flat.least_columns()) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has ", columns, " columns, the trees test ", flat.least_columns()));
  }
  if (aggregate == Aggregate::kMin) {
    Extreme<Aggregate::kMin>(*this, flat, x, columns, scores);
  } else if (aggregate == Aggregate::kMax) {
    Extreme<Aggregate::kMax>(*this, flat, x, columns, scores);
  } else {
    Sum(*this, flat, x, columns, scores);
  }
  for (size_t i = 0; i < scores.size() && !base_values.empty(); ++i)
    scores[i] += base_values[i % targets];
  return absl::OkStatus();
}
template absl::Status Ensemble::Score(absl::Span<const float>, int64_t, absl::Span<double>) const;
template absl::Status Ensemble::Score(absl::Span<const double>, int64_t, absl::Span<double>) const;

absl::StatusOr<std::shared_ptr<const Ensemble>> EnsembleOf(const Node& node) {
  {
    absl::MutexLock lock(Prepared().mutex);
    const auto found = Prepared().of_nodes.find(&node);
    if (found != Prepared().of_nodes.end()) {
      if (std::shared_ptr<const Ensemble> ensemble = found->second.lock()) return ensemble;
    }
  }
  ASSIGN_OR_RETURN(Ensemble ensemble, MakeEnsemble(node));
  return std::make_shared<const Ensemble>(std::move(ensemble));
}

absl::StatusOr<std::shared_ptr<const void>> PrepareEnsemble(const Node& node) {
  ASSIGN_OR_RETURN(Ensemble made, MakeEnsemble(node));
  const auto forget = [key = &node](const Ensemble* ensemble) {
    {
      absl::MutexLock lock(Prepared().mutex);
      Prepared().of_nodes.erase(key);
    }
    delete ensemble;
  };
  std::shared_ptr<const Ensemble> ensemble(new Ensemble(std::move(made)), forget);
  absl::MutexLock lock(Prepared().mutex);
  Prepared().of_nodes[&node] = ensemble;
  return ensemble;
}

}  // namespace onnx_cudnn
