#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/memory_plan.h"

namespace onnx_cudnn {

// The position of a buffer in the buffer that it ultimately aliases.
struct Root {
  int buffer;
  int64_t offset;
};

// A buffer that is not an alias, with all uses of its aliases.
struct Group {
  int64_t bytes = 0;
  std::vector<int> writers, readers;
};

// InvalidArgument: a negative size or offset, a Step or buffer that does not exist, a cycle of
// aliases.
absl::StatusOr<std::vector<Root>> FindRoots(absl::Span<const Buffer> buffers,
                                            const StepOrder& order);

// Parallel to the buffers; an alias has an empty Group.
std::vector<Group> MergeAliases(absl::Span<const Buffer> buffers, absl::Span<const Root> roots);

// InvalidArgument: a reader that no writer of its Group precedes.
absl::Status CheckReaders(absl::Span<const Buffer> buffers, absl::Span<const Root> roots,
                          absl::Span<const Group> groups, const StepOrder& order);

// Largest number of bytes live at one Step: a lower bound of any plan.
int64_t LargestLiveBytes(absl::Span<const Group> groups, const StepOrder& order);

// The lifetimes of groups, in counts of Steps per stream.
class Lifetimes {
 public:
  Lifetimes(absl::Span<const Group> groups, const StepOrder& order);

  // Whether all uses of one group happen before all writes of the other.
  bool MayShare(int a, int b) const { return Before(a, b) || Before(b, a); }
  int first(int group) const { return first_[group]; }  // position of its first use
  int last(int group, int stream) const { return last_[group * streams_ + stream]; }
  int known(int group, int stream) const { return known_[group * streams_ + stream]; }
  int span(int group) const;  // number of Steps, over all streams, between first and last use
  int streams() const { return streams_; }

 private:
  bool Before(int a, int b) const;
  void AddWrite(size_t group, int step, const StepOrder& order);
  void AddUse(size_t group, int step, const StepOrder& order);

  int streams_;
  std::vector<int> last_;   // by group and stream: its last use there, 0: none
  std::vector<int> known_;  // by group and stream: Steps completed there before every write
  std::vector<int> first_;
};

}  // namespace onnx_cudnn
