#include "passes/partition/pins.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/proposals.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMaxShown = 64;        // bytes of a word shown in a message
constexpr size_t kMaxOffersShown = 12;  // offers shown in a message

std::string Shown(std::string_view word) {
  const bool cut = word.size() > kMaxShown;
  return absl::StrCat("\"", Printable(word.substr(0, kMaxShown)), cut ? "…" : "", "\"");
}

absl::Status Error(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Removes and returns the quoted word at the start of `line`.
absl::StatusOr<std::string> TakeQuoted(std::string_view& line) {
  std::string word;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '"') {
      line.remove_prefix(i + 1);
      return word;
    }
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    word.push_back(line[i]);
  }
  return absl::InvalidArgumentError("expected a closing quote");
}

std::string TakeBare(std::string_view& line) {
  const auto ends = [](char c) { return IsBlank(c) || c == '#' || c == '"'; };
  const auto end = std::find_if(line.begin(), line.end(), ends);
  std::string word(line.begin(), end);
  line.remove_prefix(word.size());
  return word;
}

absl::StatusOr<std::vector<std::string>> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') return words;
    if (line.front() != '"') {
      words.push_back(TakeBare(line));
      continue;
    }
    ASSIGN_OR_RETURN(std::string word, TakeQuoted(line));
    words.push_back(std::move(word));
  }
}

absl::StatusOr<PinRule> RuleOf(std::vector<std::string> words) {
  PinRule rule;
  if (words[0] != "pin" && words[0] != "forbid") {
    return absl::InvalidArgumentError(
        absl::StrCat("expected pin or forbid, found ", Shown(words[0])));
  }
  if (words.size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an engine and at least one node after ", words[0]));
  }
  if (words.size() - 2 > kMaxPinnedNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kMaxPinnedNodes, " nodes, found ", words.size() - 2));
  }
  rule.kind = words[0] == "pin" ? PinRule::Kind::kPin : PinRule::Kind::kForbid;
  rule.engine = std::move(words[1]);
  std::set<std::string_view> seen;
  for (size_t i = 2; i < words.size(); ++i) {
    if (!seen.insert(words[i]).second) {
      return absl::InvalidArgumentError(absl::StrCat("node ", Shown(words[i]), " is given twice"));
    }
  }
  rule.nodes.assign(words.begin() + 2, words.end());
  return rule;
}

// Nodes by all names that a rule may use.
class Names {
 public:
  explicit Names(const Graph& graph) {
    for (const Node* node : graph.TopologicalOrder()) {
      if (!node->name().empty()) nodes_[node->name()].push_back(node);
      for (const Value* v : node->outputs()) {
        if (v != nullptr) outputs_[v->name()] = node;
      }
    }
  }

  absl::StatusOr<const Node*> Find(const std::string& name) const {
    if (auto it = nodes_.find(name); it != nodes_.end()) {
      if (it->second.size() == 1) return it->second[0];
      return absl::InvalidArgumentError(absl::StrCat(it->second.size(), " nodes are called ",
                                                     Shown(name), ", name them by their outputs"));
    }
    if (auto it = outputs_.find(name); it != outputs_.end()) return it->second;
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has no node ", Shown(name), " after its rewrites"));
  }

 private:
  std::map<std::string_view, std::vector<const Node*>> nodes_;
  std::map<std::string_view, const Node*> outputs_;
};

absl::Status CheckEngine(const PinRule& rule, const Target& target) {
  std::vector<std::string_view> names = {"*"};
  for (const Engine* engine : target.engines) names.push_back(engine->name());
  if (std::find(names.begin(), names.end(), rule.engine) != names.end()) return absl::OkStatus();
  return Error(rule.where,
               absl::StrCat("target ", target.info.name, " has no engine ", Shown(rule.engine),
                            ", expected one of: ", absl::StrJoin(names, ", ")));
}

// "cudnn {conv1 relu1}"
std::string Describe(const Candidate& candidate) {
  return absl::StrCat(candidate.engine->name(), " {",
                      absl::StrJoin(candidate.nodes, " ",
                                    [](std::string* out, const Node* node) {
                                      out->append(node->name().empty() ? node->op() : node->name());
                                    }),
                      "}");
}

}  // namespace

absl::StatusOr<std::vector<PinRule>> ParsePins(std::string_view text, std::string_view file) {
  if (text.size() > kMaxPinBytes) {
    return Error(file,
                 absl::StrCat("expected at most ", kMaxPinBytes, " bytes, found ", text.size()));
  }
  std::vector<PinRule> rules;
  int line_number = 0;
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    const std::string where = absl::StrCat(file, ":", ++line_number);
    absl::StatusOr<std::vector<std::string>> words = WordsOf(line);
    if (!words.ok()) return Annotate(words.status(), where);
    if (words->empty()) continue;
    if (rules.size() == kMaxPinRules) {
      return Error(where, absl::StrCat("expected at most ", kMaxPinRules, " rules"));
    }
    absl::StatusOr<PinRule> rule = RuleOf(*std::move(words));
    if (!rule.ok()) return Annotate(rule.status(), where);
    rule->where = where;
    rules.push_back(*std::move(rule));
  }
  return rules;
}

absl::StatusOr<Pins> Pins::Resolve(absl::Span<const PinRule> rules, const Graph& graph,
                                   const Target& target) {
  Pins pins;
  if (rules.empty()) return pins;
  const Names names(graph);
  for (const PinRule& rule : rules) {
    RETURN_IF_ERROR(CheckEngine(rule, target));
    Resolved resolved{.rule = &rule};
    for (const std::string& name : rule.nodes) {
      const absl::StatusOr<const Node*> node = names.Find(name);
      if (!node.ok()) return Annotate(node.status(), rule.where);
      resolved.nodes.push_back(*node);
      pins.rules_of_[*node].push_back(static_cast<int>(pins.rules_.size()));
    }
    pins.rules_.push_back(std::move(resolved));
  }
  RETURN_IF_ERROR(pins.CheckPinnedOnce());
  return pins;
}

absl::Status Pins::CheckPinnedOnce() const {
  std::map<const Node*, const PinRule*> pinned;
  for (const Resolved& r : rules_) {
    if (r.rule->kind != PinRule::Kind::kPin) continue;
    for (const Node* node : r.nodes) {
      auto [it, added] = pinned.emplace(node, r.rule);
      if (added) continue;
      return Error(r.rule->where,
                   absl::StrCat(Where(*node), " is pinned twice, first by ", it->second->where));
    }
  }
  return absl::OkStatus();
}

bool Pins::Refuses(const Resolved& resolved, const Candidate& candidate) {
  const bool engine_fits =
      resolved.rule->engine == "*" || resolved.rule->engine == candidate.engine->name();
  const bool holds_all =
      std::all_of(resolved.nodes.begin(), resolved.nodes.end(), [&](const Node* node) {
        return std::find(candidate.nodes.begin(), candidate.nodes.end(), node) !=
               candidate.nodes.end();
      });
  const bool as_said = engine_fits && holds_all;
  return resolved.rule->kind == PinRule::Kind::kPin ? !as_said : as_said;
}

const PinRule* Pins::Against(const Candidate& candidate) const {
  for (const Node* node : candidate.nodes) {
    const auto it = rules_of_.find(node);
    if (it == rules_of_.end()) continue;
    for (const int rule : it->second) {
      if (Refuses(rules_[rule], candidate)) return rules_[rule].rule;
    }
  }
  return nullptr;
}

absl::Status Pins::CheckOffered(const Stretch& stretch) const {
  const Proposals allowed(stretch);
  Stretch without_pins = stretch;
  without_pins.pins = nullptr;
  const Proposals all(without_pins);
  for (const Resolved& r : rules_) {
    if (r.rule->kind != PinRule::Kind::kPin) continue;
    const bool is_offered = std::any_of(r.nodes.begin(), r.nodes.end(), [&](const Node* node) {
      return !allowed.at()[allowed.PositionOf(node)].empty();
    });
    if (is_offered) continue;
    std::set<std::string> offers;
    for (const Node* node : r.nodes) {
      for (const Proposal& p : all.at()[all.PositionOf(node)]) offers.insert(Describe(p.candidate));
    }
    const bool cut = offers.size() > kMaxOffersShown;
    if (cut) offers.erase(std::next(offers.begin(), kMaxOffersShown), offers.end());
    return Error(r.rule->where, absl::StrCat("no engine offers what is pinned; offered are: ",
                                             absl::StrJoin(offers, ", "), cut ? ", …" : ""));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
