#include "runtime/plan/buffer_groups.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::Status BufferError(size_t i, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("buffer ", i, ": ", what));
}

absl::Status CheckBuffer(absl::Span<const Buffer> buffers, size_t i, const StepOrder& order) {
  const Buffer& buffer = buffers[i];
  if (buffer.bytes < 0) return BufferError(i, absl::StrCat("size ", buffer.bytes, " is negative"));
  for (const std::vector<int>* steps : {&buffer.writers, &buffer.readers}) {
    for (int step : *steps) {
      if (step < 0 || step >= order.steps()) {
        return BufferError(i, absl::StrCat("no step ", step, " among ", order.steps()));
      }
    }
  }
  if (!buffer.alias.has_value()) return absl::OkStatus();
  const auto& [of, offset] = *buffer.alias;
  if (of < 0 || of >= static_cast<int>(buffers.size())) {
    return BufferError(i, absl::StrCat("alias of buffer ", of, " among ", buffers.size()));
  }
  if (offset < 0) return BufferError(i, absl::StrCat("alias offset ", offset, " is negative"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Root>> FindRoots(absl::Span<const Buffer> buffers,
                                            const StepOrder& order) {
  for (size_t i = 0; i < buffers.size(); ++i) RETURN_IF_ERROR(CheckBuffer(buffers, i, order));
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(buffers.size(), kNew);
  std::vector<Root> roots(buffers.size());
  std::vector<int> path;
  for (size_t start = 0; start < buffers.size(); ++start) {
    int at = static_cast<int>(start);
    for (; state[at] == kNew && buffers[at].alias.has_value(); at = buffers[at].alias->buffer) {
      state[at] = kOpen;
      path.push_back(at);
    }
    if (state[at] == kOpen) return BufferError(at, "is an alias of itself");
    if (state[at] == kNew) roots[at] = {at, 0};
    state[at] = kDone;
    for (; !path.empty(); path.pop_back()) {
      const BufferAlias& alias = *buffers[path.back()].alias;
      const Root& of = roots[alias.buffer];
      roots[path.back()] = {of.buffer, of.offset + alias.offset};
      state[path.back()] = kDone;
    }
  }
  return roots;
}

std::vector<Group> MergeAliases(absl::Span<const Buffer> buffers, absl::Span<const Root> roots) {
  std::vector<Group> groups(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    Group& group = groups[roots[i].buffer];
    group.bytes = std::max(group.bytes, roots[i].offset + buffers[i].bytes);
    const auto& [bytes, writers, readers, alias] = buffers[i];
    group.writers.insert(group.writers.end(), writers.begin(), writers.end());
    group.readers.insert(group.readers.end(), readers.begin(), readers.end());
  }
  return groups;
}

absl::Status CheckReaders(absl::Span<const Buffer> buffers, absl::Span<const Root> roots,
                          absl::Span<const Group> groups, const StepOrder& order) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (int reader : buffers[i].readers) {
      auto precedes = [&](int w) { return w == reader || order.HappensBefore(w, reader); };
      const Group& group = groups[roots[i].buffer];
      if (std::any_of(buffers[i].writers.begin(), buffers[i].writers.end(), precedes)) continue;
      if (std::any_of(group.writers.begin(), group.writers.end(), precedes)) continue;
      return BufferError(i, absl::StrCat("no writer precedes reader ", reader));
    }
  }
  return absl::OkStatus();
}

Lifetimes::Lifetimes(absl::Span<const Group> groups, const StepOrder& order)
    : streams_(order.streams()),
      last_(groups.size() * streams_, 0),
      known_(groups.size() * streams_, std::numeric_limits<int>::max()),
      first_(groups.size(), std::numeric_limits<int>::max()) {
  for (size_t i = 0; i < groups.size(); ++i) {
    for (int step : groups[i].writers) AddWrite(i, step, order);
    for (int step : groups[i].writers) AddUse(i, step, order);
    for (int step : groups[i].readers) AddUse(i, step, order);
  }
}

bool Lifetimes::Before(int a, int b) const {
  for (int s = 0; s < streams_; ++s) {
    if (last(a, s) > known(b, s)) return false;
  }
  return true;
}

int Lifetimes::span(int group) const {
  int steps = 0;
  for (int s = 0; s < streams_; ++s) steps += std::max(0, last(group, s) - known(group, s));
  return steps;
}

void Lifetimes::AddWrite(size_t group, int step, const StepOrder& order) {
  for (int s = 0; s < streams_; ++s) {
    int& known = known_[group * streams_ + s];
    const int itself = s == order.stream(step) ? 1 : 0;
    known = std::min(known, order.clock(step, s) - itself);
  }
}

void Lifetimes::AddUse(size_t group, int step, const StepOrder& order) {
  const int stream = order.stream(step);
  int& last = last_[group * streams_ + stream];
  last = std::max(last, order.clock(step, stream));
  first_[group] = std::min(first_[group], order.position(step));
}

}  // namespace onnx_cudnn
