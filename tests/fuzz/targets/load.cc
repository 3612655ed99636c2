#include <algorithm>
#include <iterator>

#include "absl/log/check.h"
#include "runtime/graph/verify.h"
#include "runtime/import/onnx_loader.h"
#include "tests/fuzz/targets.h"

namespace onnx_cudnn {
namespace {

// Small enough that no input takes long because of its size alone.
constexpr Limits kLimits = {.file_bytes = 1 << 20, .functions = 100, .nodes = 10'000};

constexpr absl::StatusCode kPromised[] = {absl::StatusCode::kInvalidArgument,
                                          absl::StatusCode::kUnimplemented,
                                          absl::StatusCode::kResourceExhausted};

}  // namespace

void FuzzLoad(std::string_view bytes) {
  const absl::StatusOr<Graph> graph = LoadModelBytes(bytes, {.limits = kLimits});
  if (graph.ok()) {
    CHECK_OK(Verify(*graph));
  } else {
    CHECK(std::find(std::begin(kPromised), std::end(kPromised), graph.status().code()) !=
          std::end(kPromised))
        << graph.status();
  }
}

}  // namespace onnx_cudnn
