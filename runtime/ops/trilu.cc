#include <algorithm>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

Support CheckTrilu(const Node& node) {
  return node.input(0).rank() >= 2 ? Support::Yes() : Support::No("the rank is below 2");
}

// Row r of a matrix keeps columns from r + k on (upper) or up to r + k (lower); all others become
// 0.
absl::Status ReferenceTrilu(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, in.dims));
  int64_t k = 0;
  if (args.has_in(1)) {
    ASSIGN_OR_RETURN(k, ScalarOf(args.in[1], "k"));
  }
  const bool upper = args.node.attrs().Int("upper", 1) != 0;
  const int64_t rows = in.dims[in.dims.size() - 2], columns = in.dims.back(),
                bytes = ElementBytes(in.dtype);
  if (in.elements() == 0) return absl::OkStatus();
  k = std::clamp(k, -rows, columns);
  args.threads.ParallelFor(in.elements() / columns, GrainFor(columns), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const char* from = static_cast<const char*>(in.data) + i * columns * bytes;
      char* to = static_cast<char*>(args.out[0].data) + i * columns * bytes;
      const int64_t border =
          std::clamp<int64_t>(i % rows + k + (upper ? 0 : 1), 0, columns) * bytes;
      const int64_t row = columns * bytes;
      std::memcpy(to, from, row);
      if (upper) {
        std::memset(to, 0, border);
      } else {
        std::memset(to + border, 0, row - border);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

OpDef TriluOp() {
  return {.types = kMovableTypes, .check = CheckTrilu, .reference = ReferenceTrilu};
}

}  // namespace onnx_cudnn
