// Pin files: which Nodes the user wants, or does not want, in one Partition.
//
//   # One rule per line, words separated by blanks; # starts a comment.
//   pin cudnn conv1 relu1    conv1 and relu1 are in one Partition of the engine cudnn
//   pin * conv2 add2         the same, for any engine
//   forbid gemm fc           no Partition of the engine gemm holds fc
//   forbid * conv1 relu1     no Partition holds both
//
// A Node is identified by its name or, if no Node has that name, by one of its outputs, as they are
// after the rewrites (onnx-cudnn-opt --print shows them). Names with blanks, # or quotes are
// written in quotes, where \" and \\ stand for a quote and a backslash. A pinned Partition may hold
// more Nodes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

struct Stretch;

// Largest size of a pin file.
inline constexpr size_t kMaxPinBytes = size_t{1} << 20;
inline constexpr size_t kMaxPinRules = 10'000;
inline constexpr size_t kMaxPinnedNodes = 1'000;  // per rule

struct PinRule {
  enum class Kind : uint8_t { kPin, kForbid };
  Kind kind = Kind::kPin;
  std::string engine;              // "*": any
  std::vector<std::string> nodes;  // names, unique, at least one
  std::string where;               // "pins.txt:3"
};

// Parses a pin file into its rules, in order. Any bytes are safe.
//   file    used in error messages only
//   errors  InvalidArgument: a line that is not a rule, as "pins.txt:3: …"; a limit above
absl::StatusOr<std::vector<PinRule>> ParsePins(std::string_view text, std::string_view file);

// Rules about the Nodes of one Graph. They point into `rules` and `graph`.
class Pins {
 public:
  // InvalidArgument: an Engine that the Target lacks, a name that matches no Node or several, a
  // Node that two rules pin.
  static absl::StatusOr<Pins> Resolve(absl::Span<const PinRule> rules, const Graph& graph,
                                      const Target& target);

  // The rule that forbids choosing `candidate`; nullptr: none.
  const PinRule* Against(const Candidate& candidate) const;

  // InvalidArgument names the first pin that no proposal of `stretch` satisfies, and what was
  // offered for its Nodes instead.
  absl::Status CheckOffered(const Stretch& stretch) const;

 private:
  struct Resolved {
    const PinRule* rule;
    std::vector<const Node*> nodes;
  };
  static bool Refuses(const Resolved& resolved, const Candidate& candidate);
  absl::Status CheckPinnedOnce() const;

  std::vector<Resolved> rules_;
  std::map<const Node*, std::vector<int>> rules_of_;
};

}  // namespace onnx_cudnn
