#pragma once

#include <utility>

#include "absl/status/status.h"

namespace onnx_cudnn {

// Whether this process was forked from one that had called CheckNotForked. The threads, locks and
// GPU context of that process are not usable here.
bool IsForked();

// FailedPrecondition: IsForked. The first call in a process tells its forks.
absl::Status CheckNotForked();

// Keeps `owner` forever where its destructor would wait for threads or a GPU that the process does
// not have.
template <typename Owner>
void AbandonIfForked(Owner& owner) {
  if (IsForked()) new Owner(std::move(owner));
}

}  // namespace onnx_cudnn
