#include "runtime/ops/einsum_plan.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::string_view kBroadcastLabels = "0123456789";  // for the axes of an ellipsis
constexpr double kMostElements = int64_t{1} << 46;
constexpr size_t kMostGreedy = 32;  // number of operands

bool Has(std::string_view labels, char label) { return labels.find(label) != labels.npos; }

// The labels of a term with `rank` axes.
absl::StatusOr<std::string> LabelsOf(std::string_view term, size_t rank) {
  const size_t ellipsis = term.find(kEllipsis);
  const size_t letters = term.size() - (ellipsis == term.npos ? 0 : kEllipsis.size());
  const bool fits = ellipsis == term.npos
                        ? letters == rank
                        : letters <= rank && rank - letters <= kBroadcastLabels.size();
  if (!fits)
    return absl::InvalidArgumentError(
        absl::StrCat("term \"", term, "\" is not one of ", rank, " axes"));
  if (ellipsis == term.npos) return std::string(term);
  const std::string_view axes = kBroadcastLabels.substr(kBroadcastLabels.size() - (rank - letters));
  return absl::StrCat(term.substr(0, ellipsis), axes, term.substr(ellipsis + kEllipsis.size()));
}

// The output without "->": the axes of an ellipsis, then every letter that occurs once, sorted.
std::string ImpliedOutput(const std::vector<std::string>& terms) {
  std::map<char, int> count;
  for (const std::string& term : terms) {
    for (char label : term) ++count[label];
  }
  std::string output;
  for (const auto& [label, times] : count) {
    if (times == 1 || Has(kBroadcastLabels, label)) output += label;
  }
  return output;
}

// Equal labels need equal extents, except that 1 matches any.
absl::StatusOr<std::map<char, int64_t>> ExtentsOf(const EinsumEquation& equation,
                                                  const std::vector<Dims>& dims) {
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t a = 0; a < dims[i].size(); ++a) {
      int64_t& extent = extents.try_emplace(equation.terms[i][a], 1).first->second;
      if (dims[i][a] == 1) continue;
      if (extent != 1 && extent != dims[i][a])
        return absl::InvalidArgumentError(absl::StrCat("operand ", i, " is ", ToString(dims[i]),
                                                       ", an earlier extent of axis ", a, " is ",
                                                       extent));
      extent = dims[i][a];
    }
  }
  return extents;
}

// The labels of an operand with more than one element, without duplicates.
std::string LabelsWithExtent(std::string_view term, const Dims& dims) {
  std::string labels;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] != 1 && !Has(labels, term[a])) labels += term[a];
  }
  return labels;
}

// The labels of `operands[i]` that the output or another operand also has.
std::string NeededLabels(const std::vector<std::string>& operands, size_t i,
                         std::string_view output) {
  std::string needed;
  for (char label : operands[i]) {
    bool is_needed = Has(output, label);
    for (size_t other = 0; other < operands.size(); ++other)
      is_needed |= other != i && Has(operands[other], label);
    if (is_needed) needed += label;
  }
  return needed;
}

// Whether strides describe a tensor of `labels` as a batch of row-major matrices of `rows` and
// `columns`, or of their transposes.
bool IsMatrices(std::string_view labels, std::string_view rows, std::string_view columns) {
  const bool neighbours = labels.find(rows) != labels.npos && labels.find(columns) != labels.npos;
  const bool dense =
      rows.empty() || columns.empty() || labels.ends_with(rows) || labels.ends_with(columns);
  return neighbours && dense;
}

class Contractions {
 public:
  explicit Contractions(EinsumPlan& plan) : plan_(plan) {
    for (size_t i = 0; i < plan.tensors.size(); ++i) live_.push_back(static_cast<int>(i));
  }

  void Add() {
    while (live_.size() > 1) {
      EinsumContraction next =
          live_.size() > kMostGreedy ? Between(live_[0], live_[1]) : Cheapest();
      std::erase_if(live_, [&](int t) { return t == next.a || t == next.b; });
      live_.insert(live_.begin(), static_cast<int>(plan_.tensors.size()));
      plan_.tensors.push_back(next.result());
      plan_.contractions.push_back(std::move(next));
    }
  }

 private:
  EinsumContraction Cheapest() const {
    EinsumContraction best;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    std::tuple<bool, int64_t, int64_t> least = {true, kMost, kMost};
    for (size_t i = 0; i < live_.size(); ++i) {
      for (size_t j = i + 1; j < live_.size(); ++j) {
        EinsumContraction c = Between(live_[i], live_[j]);
        const int64_t growth = plan_.Elements(c.result()) - plan_.Elements(LabelsOf(c.a)) -
                               plan_.Elements(LabelsOf(c.b));
        const std::tuple<bool, int64_t, int64_t> key = {c.batch.empty() && c.k.empty(), growth,
                                                        plan_.Elements(c.result() + c.k)};
        if (key >= least) continue;
        least = key;
        best = std::move(c);
      }
    }
    return best;
  }

  EinsumContraction Between(int a, int b) const {
    EinsumContraction c{.a = a, .b = b};
    for (char label : LabelsOf(a)) {
      if (!Has(LabelsOf(b), label)) {
        c.m += label;
      } else if (IsNeeded(label, a, b)) {
        c.batch += label;
      }
    }
    const bool a_is_larger = plan_.Elements(LabelsOf(a)) >= plan_.Elements(LabelsOf(b));
    for (char label : LabelsOf(a_is_larger ? a : b)) {
      if (Has(LabelsOf(a), label) && Has(LabelsOf(b), label) && !Has(c.batch, label)) c.k += label;
    }
    for (char label : LabelsOf(b)) {
      if (!Has(LabelsOf(a), label)) c.n += label;
    }
    // The rows of the result are the labels that come first in the output.
    const size_t first = plan_.equation.output.find_first_of(c.m + c.n);
    if (first != std::string::npos && Has(c.n, plan_.equation.output[first])) {
      std::swap(c.a, c.b);
      std::swap(c.m, c.n);
    }
    c.packs_a = !IsMatrices(LabelsOf(c.a), c.m, c.k);
    c.packs_b = !IsMatrices(LabelsOf(c.b), c.k, c.n);
    return c;
  }

  const std::string& LabelsOf(int tensor) const { return plan_.tensors[tensor]; }
  bool IsNeeded(char label, int a, int b) const {
    return Has(plan_.equation.output, label) || std::any_of(live_.begin(), live_.end(), [&](int t) {
             return t != a && t != b && Has(LabelsOf(t), label);
           });
  }

  EinsumPlan& plan_;
  std::vector<int> live_;  // tensors that are not contracted yet
};

}  // namespace

absl::StatusOr<EinsumEquation> EinsumEquationOf(const std::string& text,
                                                absl::Span<const size_t> ranks) {
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || inputs.size() != ranks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("equation \"", text, "\" is not one of ", ranks.size(), " operands"));
  }
  EinsumEquation equation;
  std::string all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(equation.terms.emplace_back(), LabelsOf(inputs[i], ranks[i]));
    all += equation.terms.back();
  }
  if (sides.size() == 1) {
    equation.output = ImpliedOutput(equation.terms);
    return equation;
  }
  size_t broadcast = 0;  // the largest number of axes that an ellipsis stands for
  for (const std::string& term : equation.terms)
    broadcast =
        std::max<size_t>(broadcast, std::count_if(term.begin(), term.end(), absl::ascii_isdigit));
  const bool has_ellipsis = sides[1].find(kEllipsis) != sides[1].npos;
  const size_t letters = sides[1].size() - (has_ellipsis ? kEllipsis.size() : 0);
  ASSIGN_OR_RETURN(equation.output, LabelsOf(sides[1], letters + (has_ellipsis ? broadcast : 0)));
  for (char label : equation.output) {
    const bool once = std::count(equation.output.begin(), equation.output.end(), label) == 1;
    if (once && Has(all, label)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "equation \"", text, "\" gives no output axis \"", std::string(1, label), "\""));
  }
  return equation;
}

int64_t EinsumPlan::Elements(std::string_view labels) const {
  double elements = 1;
  for (char label : labels) elements *= static_cast<double>(extents.at(label));
  return static_cast<int64_t>(std::min(elements, kMostElements));
}

int64_t EinsumPlan::Stride(std::string_view labels, std::string_view group) const {
  return Elements(labels.substr(labels.find(group) + group.size()));
}

absl::StatusOr<EinsumPlan> PlanEinsum(EinsumEquation equation, const std::vector<Dims>& dims) {
  EinsumPlan plan;
  ASSIGN_OR_RETURN(plan.extents, ExtentsOf(equation, dims));
  for (size_t i = 0; i < dims.size(); ++i)
    plan.operands.push_back(LabelsWithExtent(equation.terms[i], dims[i]));
  for (size_t i = 0; i < dims.size(); ++i)
    plan.tensors.push_back(NeededLabels(plan.operands, i, equation.output));
  plan.equation = std::move(equation);
  Contractions(plan).Add();
  return plan;
}

}  // namespace onnx_cudnn
