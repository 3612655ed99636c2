#include "runtime/ops/random_draw.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <deque>
#include <memory>
#include <numbers>
#include <optional>
#include <random>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace onnx_cudnn {
namespace {

// The attribute with the position of a Node's stream in its RandomStreams.
constexpr std::string_view kStreamAttribute = "random_stream";

constexpr std::string_view kRandomOps[] = {"Bernoulli",     "Multinomial",
                                           "RandomNormal",  "RandomNormalLike",
                                           "RandomUniform", "RandomUniformLike"};

bool MayTrain(const Node& dropout) {
  if (!dropout.has_input(2)) return false;
  const Value& training = dropout.input(2);
  if (!training.is_constant()) return true;
  const HostTensor& mode = training.constant();
  return mode.elements() > 0 && *static_cast<const uint8_t*>(mode.raw()) != 0;
}

bool DrawsItself(const Node& node) {
  if (!node.domain().empty()) return false;
  if (node.op() == "Dropout") return MayTrain(node);
  return std::find(std::begin(kRandomOps), std::end(kRandomOps), node.op()) != std::end(kRandomOps);
}

// Attribute "seed" is an integer of Dropout and a float of the other ops.
std::optional<uint32_t> SeedOf(const Node& node) {
  if (const float* seed = node.attrs().Get<float>("seed")) return std::bit_cast<uint32_t>(*seed);
  if (const int64_t* seed = node.attrs().Get<int64_t>("seed")) {
    const auto bits = static_cast<uint64_t>(*seed);
    return static_cast<uint32_t>(bits ^ (bits >> 32));
  }
  return std::nullopt;
}

PhiloxKey KeyOf(const Node& node, uint32_t position) {
  if (const std::optional<uint32_t> seed = SeedOf(node)) return {*seed, position};
  std::random_device system;
  return {system(), system()};
}

struct Stream {
  explicit Stream(PhiloxKey k) : key(k) {}
  const PhiloxKey key;
  std::atomic<uint64_t> draws = 0;
};
using Streams = std::deque<Stream>;

// The streams of all models in the process, by RandomStreams. A Node has only numbers as attributes
// and outlives its model's RandomStreams in the Steps of a Run that ends late.
class Registry {
 public:
  static Registry& Get() {
    static auto& registry = *new Registry;
    return registry;
  }
  int64_t Add(std::shared_ptr<Streams> streams) {
    const absl::MutexLock lock(mutex_);
    streams_[++last_] = std::move(streams);
    return last_;
  }
  void Remove(int64_t id) {
    const absl::MutexLock lock(mutex_);
    streams_.erase(id);
  }
  std::shared_ptr<Streams> Find(int64_t id) {
    const absl::MutexLock lock(mutex_);
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second;
  }

 private:
  absl::Mutex mutex_;
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<int64_t, std::shared_ptr<Streams>> streams_ ABSL_GUARDED_BY(mutex_);
};

void AddStreams(Graph& graph, int64_t id, Streams& streams) {
  for (Node* node : graph.TopologicalOrder()) {
    if (DrawsItself(*node)) {
      const auto position = static_cast<int64_t>(streams.size());
      streams.emplace_back(KeyOf(*node, static_cast<uint32_t>(position)));
      graph.SetAttr(*node, kRandomStreamsAttribute, id);
      graph.SetAttr(*node, kStreamAttribute, position);
    }
    for (auto& [name, body] : graph.MutableBodies(*node)) AddStreams(*body, id, streams);
  }
}

int64_t AddStreams(Graph& graph) {
  auto streams = std::make_shared<Streams>();
  const int64_t id = Registry::Get().Add(streams);
  AddStreams(graph, id, *streams);
  return id;
}

// 53 of the 64 bits.
double InUnit(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

}  // namespace

bool IsRandom(const Node& node) {
  if (DrawsItself(node)) return true;
  return std::any_of(node.bodies().begin(), node.bodies().end(), [](const auto& body) {
    const std::vector<Node*> nodes = body.second->TopologicalOrder();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) { return IsRandom(*n); });
  });
}

RandomStreams::RandomStreams(Graph& graph) : id_(AddStreams(graph)) {}
RandomStreams::~RandomStreams() { Registry::Get().Remove(id_); }

RandomDraw RandomDraw::Next(const Node& node) {
  const int64_t position = node.attrs().Int(kStreamAttribute, -1);
  const std::shared_ptr<Streams> streams =
      Registry::Get().Find(node.attrs().Int(kRandomStreamsAttribute, 0));
  if (streams == nullptr || position < 0 || position >= static_cast<int64_t>(streams->size())) {
    return {KeyOf(node, 0), 0};
  }
  Stream& stream = (*streams)[position];
  return {stream.key, stream.draws.fetch_add(1, std::memory_order_relaxed)};
}

std::array<double, 2> RandomDraw::Uniforms(int64_t pair) const {
  const auto at = static_cast<uint64_t>(pair);
  const PhiloxCounter bits =
      Philox({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32),
              static_cast<uint32_t>(number_), static_cast<uint32_t>(number_ >> 32)},
             key_);
  return {InUnit(bits[0], bits[1]), InUnit(bits[2], bits[3])};
}

// The transform of Box and Muller, of a first number in (0, 1].
std::array<double, 2> RandomDraw::Normals(int64_t pair) const {
  const auto [first, second] = Uniforms(pair);
  const double radius = std::sqrt(-2 * std::log1p(-first));
  const double angle = 2 * std::numbers::pi * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace onnx_cudnn
