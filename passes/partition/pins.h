// Pin files: what a user wants, or does not want, to be one Partition.
//
//   # One rule a line, words apart by blanks; # starts a comment.
//   pin cudnn conv1 relu1    conv1 and relu1 are in one Partition, of the Engine cudnn
//   pin * conv2 add2         the same, of any Engine
//   forbid gemm fc           no Partition of gemm holds fc
//   forbid * conv1 relu1     no Partition holds both
//
// A Node is named by its name, or by one of its outputs when no Node is called so; after the
// rewrites, as onnx-cudnn-opt --print shows them. Names with blanks, # or quotes stand in quotes,
// where \" and \\ are a quote and a backslash. A pinned Partition may hold further Nodes.
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

// Of a pin file.
inline constexpr size_t kMaxPinBytes = size_t{1} << 20;
inline constexpr size_t kMaxPinRules = 10'000;
inline constexpr size_t kMaxPinnedNodes = 1'000;  // of a rule

struct PinRule {
  enum class Kind : uint8_t { kPin, kForbid };
  Kind kind = Kind::kPin;
  std::string engine;              // "*": any
  std::vector<std::string> nodes;  // names, each once, at least one
  std::string where;               // "pins.txt:3"
};

// The rules of a pin file's text, in order. Any bytes are safe.
//   file    for errors alone
//   errors  InvalidArgument: a line that is no rule, as "pins.txt:3: …"; a limit above
absl::StatusOr<std::vector<PinRule>> ParsePins(std::string_view text, std::string_view file);

// Rules about the Nodes of one Graph. They point into `rules` and `graph`.
class Pins {
 public:
  // InvalidArgument: an Engine that the Target lacks, a name that no Node or several have, a Node
  // that two rules pin.
  static absl::StatusOr<Pins> Resolve(absl::Span<const PinRule> rules, const Graph& graph,
                                      const Target& target);

  // The rule for which `candidate` may not be chosen; nullptr: there is none.
  const PinRule* Against(const Candidate& candidate) const;

  // InvalidArgument names the first pin that no proposal of `stretch` meets, and what was offered
  // for its Nodes instead.
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
