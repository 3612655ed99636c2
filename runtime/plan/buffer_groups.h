#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/memory_plan.h"

namespace onnx_cudnn {

// Where a buffer lies in the one that is no alias.
struct Root {
  int buffer;
  int64_t offset;
};

// A buffer that is no alias, with all uses of its aliases.
struct Group {
  int64_t bytes = 0;
  std::vector<int> writers, readers;
};

// InvalidArgument: a negative size or offset, a Step or buffer that is not there, a cycle of
// aliases.
absl::StatusOr<std::vector<Root>> FindRoots(absl::Span<const Buffer> buffers,
                                            const StepOrder& order);

// Parallel to the buffers; an alias has an empty Group.
std::vector<Group> MergeAliases(absl::Span<const Buffer> buffers, absl::Span<const Root> roots);

// InvalidArgument: a reader that no writer of its Group precedes.
absl::Status CheckReaders(absl::Span<const Buffer> buffers, absl::Span<const Root> roots,
                          absl::Span<const Group> groups, const StepOrder& order);

// The most bytes that live at one Step: no plan is smaller.
int64_t LargestLiveBytes(absl::Span<const Group> groups, const StepOrder& order);

// When the groups are in use, in counts of Steps per stream.
class Lifetimes {
 public:
  Lifetimes(absl::Span<const Group> groups, const StepOrder& order);

  // Every use of one happens before every write of the other.
  bool MayShare(int a, int b) const { return Before(a, b) || Before(b, a); }
  int first(int group) const { return first_[group]; }  // position of the first use
  int last(int group, int stream) const { return last_[group * streams_ + stream]; }
  int known(int group, int stream) const { return known_[group * streams_ + stream]; }
  int span(int group) const;  // how many Steps, of all streams, it lives through
  int streams() const { return streams_; }

 private:
  bool Before(int a, int b) const;
  void AddWrite(size_t group, int step, const StepOrder& order);
  void AddUse(size_t group, int step, const StepOrder& order);

  int streams_;
  std::vector<int> last_;   // by group and stream: the last use there, 0: none
  std::vector<int> known_;  // by group and stream: what is done there before every write
  std::vector<int> first_;
};

}  // namespace onnx_cudnn
