#include "passes/partition/saved_cover.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "passes/partition/partition_order.h"
#include "runtime/base/sha1.h"

namespace onnx_cudnn {
namespace {

enum class Host { kThis, kAny };

constexpr std::string_view kOfAnyHost = "*";

// The first line of a Signature is about the host.
std::string DigestOf(const Candidate& candidate, const Target& target, Host host) {
  const std::string signature = Signature(candidate, target);
  std::string_view text = signature;
  if (host == Host::kAny) text.remove_prefix(signature.find('\n'));
  Sha1 hash;
  hash.Update(text);
  return absl::StrCat(host == Host::kAny ? kOfAnyHost : "", hash.HexDigest());
}

// Keeps the proposal with these Nodes and this Signature.
class Wanted final : public CandidateSink {
 public:
  Wanted(std::vector<int> ids, std::string_view digest, const Target& target)
      : ids_(std::move(ids)),
        digest_(digest),
        target_(target),
        host_(absl::StartsWith(digest, kOfAnyHost) ? Host::kAny : Host::kThis) {}
  void Add(Candidate candidate) override {
    if (found_.has_value() || NodeIds(candidate) != ids_) return;
    if (DigestOf(candidate, target_, host_) == digest_) found_ = std::move(candidate);
  }
  void No(const Engine& /*engine*/, const Node& /*node*/, std::string /*reason*/) override {}
  std::optional<Candidate> found() && { return std::move(found_); }
  bool is_found() const { return found_.has_value(); }

 private:
  const std::vector<int> ids_;
  const std::string_view digest_;
  const Target& target_;
  const Host host_;
  std::optional<Candidate> found_;
};

using NodesById = absl::flat_hash_map<int, const Node*>;

// The Candidate of a line; its Nodes are taken out of `open`.
std::optional<Candidate> CandidateFromLine(std::string_view line, const Stretch& stretch,
                                           NodesById& open) {
  const std::vector<std::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() < 3) return std::nullopt;
  const auto& engines = stretch.target.engines;
  const auto engine = std::find_if(engines.begin(), engines.end(),
                                   [&](const Engine* e) { return e->name() == words[0]; });
  if (engine == engines.end()) return std::nullopt;
  std::vector<int> ids;
  std::vector<const Node*> nodes;
  for (size_t i = 2; i < words.size(); ++i) {
    int id;
    if (!absl::SimpleAtoi(words[i], &id)) return std::nullopt;
    const auto node = open.find(id);
    if (node == open.end()) return std::nullopt;
    ids.push_back(id);
    nodes.push_back(node->second);
    open.erase(node);
  }
  Wanted wanted(std::move(ids), words[1], stretch.target);
  for (const Node* anchor : nodes) {
    (*engine)->Propose(stretch.graph, *anchor, stretch.target, wanted);
    if (wanted.is_found()) break;
  }
  return std::move(wanted).found();
}

std::string TextOf(absl::Span<const Candidate> cover, const Target& target, Host host) {
  std::vector<std::string> lines;
  for (const Candidate& c : cover) {
    lines.push_back(absl::StrCat(c.engine->name(), " ", DigestOf(c, target, host), " ",
                                 absl::StrJoin(NodeIds(c), " "), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "");
}

std::vector<Candidate> ChosenOf(absl::Span<const Partition> partitions) {
  std::vector<Candidate> cover;
  for (const Partition& p : partitions) cover.push_back(p.chosen);
  return cover;
}

}  // namespace

std::string CoverToText(absl::Span<const Candidate> cover, const Target& target) {
  return TextOf(cover, target, Host::kThis);
}

std::string CoverToText(absl::Span<const Partition> partitions, const Target& target) {
  return TextOf(ChosenOf(partitions), target, Host::kThis);
}

std::string CoverForAnyHost(absl::Span<const Partition> partitions, const Target& target) {
  return TextOf(ChosenOf(partitions), target, Host::kAny);
}

std::optional<std::vector<Candidate>> CoverFromText(std::string_view text, const Stretch& stretch) {
  NodesById open;
  for (const Node* node : stretch.nodes) open.emplace(node->id(), node);
  std::vector<Candidate> cover;
  for (const std::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::optional<Candidate> candidate = CandidateFromLine(line, stretch, open);
    if (!candidate.has_value()) return std::nullopt;
    cover.push_back(*std::move(candidate));
  }
  if (!open.empty()) return std::nullopt;
  std::vector<const Candidate*> all;
  for (const Candidate& candidate : cover) all.push_back(&candidate);
  if (!OrderPartitions(all).cycle.empty()) return std::nullopt;
  return cover;
}

}  // namespace onnx_cudnn
