#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/schedule.h"

namespace onnx_cudnn {

// The bytes of another buffer, at an offset.
struct BufferAlias {
  int buffer;
  int64_t offset;
};
struct Buffer {
  int64_t bytes = 0;
  std::vector<int> writers, readers;  // Steps; for an alias: only its own
  std::optional<BufferAlias> alias;
};
struct MemoryPlan {
  std::vector<int64_t> offsets;  // in bytes, parallel to the buffers
  int64_t arena_bytes = 0;
};

// Places buffers in one arena. Two may share bytes only if every use of one happens before every
// write of the other.
//   buffers    bytes ≥ 0, writers and readers as Step indices, or an alias of another buffer at an
//              offset
//   order      which Step happens before which, over all streams
//   alignment  bytes, a power of two; every offset of a buffer that is no alias and the arena size
//              are multiples of it
//   returns    offsets[i] in bytes for buffers[i]; equal inputs give equal plans
//   errors     InvalidArgument: negative size, a reader that no writer precedes, a cycle of
//              aliases, alignment not a power of two
//   cost       O(n log n) in practice; where that misses the lower bound and there are at most
//              4,096 buffers also greedy by size and by length of life (quadratic); the smallest
//              arena is kept
//   source     greedy by size, Pisarchyk and Lee, arXiv 2001.03288
absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const Buffer> buffers, const StepOrder& order,
                                      int64_t alignment);

// Largest sum of bytes live at one Step: a lower bound of any arena.
int64_t PeakBytes(absl::Span<const Buffer> buffers, const StepOrder& order);

}  // namespace onnx_cudnn
