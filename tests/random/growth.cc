#include "tests/random/growth.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/run_op.h"
#include "tests/random/compare.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostElements = 600;
constexpr int kMostRank = 5;
constexpr double kLargest = 1e4;  // f16 ends at 65504
constexpr double kRoundingsInTolerance = 8;

bool IsSmall(const Value* value) {
  return value == nullptr || (value->is_static() && value->rank() <= kMostRank &&
                              value->elements() > 0 && value->elements() <= kMostElements);
}

}  // namespace

Growth::Growth(uint64_t seed, DType lowest, std::string_view choices)
    : random_(seed), choices_(choices), lowest_(lowest) {
  graph_.set_name("g");
}

// The distributions of the standard library differ between implementations.
int Growth::Below(int n) {
  if (choices_.empty()) return static_cast<int>(random_() % n);
  const int choice = static_cast<uint8_t>(choices_[0]) % n;
  choices_.remove_prefix(1);
  return choice;
}

float Growth::Uniform(float low, float high) {
  return low + (high - low) * static_cast<float>(random_() >> 40) / (1 << 24);
}

Value* Growth::Pick(absl::FunctionRef<bool(const Value&)> fits) {
  std::vector<Value*> found;
  for (Value* v : offered_) {
    if (fits(*v)) found.push_back(v);
  }
  if (found.empty()) return nullptr;
  const int n = static_cast<int>(found.size());
  return found[std::max(Below(n), Below(n))];
}

HostTensor Growth::RandomTensor(DType dtype, Dims dims, float low, float high) {
  std::vector<double> values(ElementsOf(dims));
  for (double& v : values) v = dtype == DType::kBool ? Below(2) : Uniform(low, high);
  return TensorOf(dtype, std::move(dims), values);
}

void Growth::AddInput(DType dtype, Dims dims) {
  Value& input = graph_.AddInput("x", Type::Tensor(dtype, dims));
  HostTensor tensor = RandomTensor(dtype, std::move(dims), -2, 2), up = tensor, down = tensor;
  Disturb(up, down);
  versions_[kPlain][&input] = std::move(tensor);
  versions_[kUp][&input] = std::move(up);
  versions_[kDown][&input] = std::move(down);
  offered_.push_back(&input);
}

Value& Growth::Constant(DType dtype, Dims dims, float low, float high) {
  return graph_.AddConstant(RandomTensor(dtype, std::move(dims), low, high));
}

Value& Growth::Filled(DType dtype, Dims dims, float value) {
  const std::vector<double> values(ElementsOf(dims), value);
  return graph_.AddConstant(TensorOf(dtype, std::move(dims), values));
}

Value& Growth::Ints(const std::vector<int64_t>& values) {
  return graph_.AddConstant(HostTensor::Ints(values));
}

Node* Growth::Add(NodeSpec spec) {
  Node& node = graph_.AddNode(std::move(spec));
  const bool stays = inference_.Infer(node).ok() &&
                     std::all_of(node.outputs().begin(), node.outputs().end(), IsSmall) &&
                     CheckOp(node) && Evaluates(node);
  if (!stays) {
    graph_.Remove(node);
    return nullptr;
  }
  for (Value* v : node.outputs()) {
    if (v != nullptr) offered_.push_back(v);
  }
  return &node;
}

Value* Growth::AddValue(std::string op, std::vector<Value*> inputs, Attrs attrs) {
  if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) return nullptr;
  const Node* node =
      Add({.op = std::move(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  return node == nullptr ? nullptr : &node->output(0);
}

bool Growth::AreClose(const HostTensor& a, const HostTensor& b) const {
  return Magnitude(a) <= kLargest && Difference(a, b, ToleranceOf(a.dtype(), lowest_) / 2).empty();
}

// Keeps the results of `node` if they are well-conditioned.
bool Growth::Evaluates(const Node& node) {
  const Part alone = TakePart({&node});
  std::vector<HostTensor> results[kVersions];
  for (int v = 0; v < kVersions; ++v) {
    absl::StatusOr<std::vector<HostTensor>> found =
        Evaluate(alone.graph, TensorsOf(alone.inputs, versions_[v]));
    if (!found.ok()) return false;
    results[v] = *std::move(found);
  }
  for (size_t i = 0; i < results[kPlain].size(); ++i) {
    const HostTensor& plain = results[kPlain][i];
    if (!AreClose(plain, results[kUp][i]) || !AreClose(plain, results[kDown][i])) return false;
    Disturb(results[kUp][i], results[kDown][i]);
  }
  for (int v = 0; v < kVersions; ++v) {
    size_t i = 0;
    for (const Value* value : node.outputs()) {
      if (value != nullptr) versions_[v][value] = std::move(results[v][i++]);
    }
  }
  return true;
}

// Moves the elements of `up` a few roundings up or down, and those of `down` in the opposite
// direction.
void Growth::Disturb(HostTensor& up, HostTensor& down) {
  const double step = ToleranceOf(up.dtype(), lowest_) / kRoundingsInTolerance * Magnitude(up);
  if (step == 0) return;
  Numbers one = NumbersOf(up), other = NumbersOf(down);
  for (size_t i = 0; i < one.values.size(); ++i) {
    const double move = step * Uniform(0.5, 1) * (OneIn(2) ? 1 : -1);
    one.values[i] += move;
    other.values[i] -= move;
  }
  up = TensorOf(up.dtype(), up.dims(), one.values);
  down = TensorOf(down.dtype(), down.dims(), other.values);
}

void Growth::Finish() {
  int serial = 0;
  const auto declare = [&](Value& v) { graph_.AddOutput(absl::StrCat("o", serial++), v); };
  for (Value* v : offered_) {
    const bool unread = v->producer() != nullptr && v->uses().empty();
    if (OneIn(10) != unread) declare(*v);
  }
  if (OneIn(10)) declare(Constant(DType::kF32, {2}));
  if (serial == 0 || OneIn(10)) declare(*offered_.back());
}

}  // namespace onnx_cudnn
