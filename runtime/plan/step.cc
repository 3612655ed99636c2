#include "runtime/plan/step.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

absl::Status Step::Fault(uint64_t word) const {
  return absl::InternalError(absl::StrCat("a step that cannot fail reported ", word));
}

Derived Unchanged(int constant, absl::Span<const int64_t> dims) {
  return {.from = {constant},
          .recipe = "",
          .to = Format::RowMajor(dims),
          .make = [](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            return sources[0];
          }};
}

}  // namespace onnx_cudnn
