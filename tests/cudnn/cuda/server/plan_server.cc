// plan_server PROPERTIES [dies|babbles]: compiles plans over standard input for a device that is
// not present. With a second word it ends at the first request, or answers nonsense.
#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/base/frames.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/plan_compilers.h"

int main(int argc, char** argv) {
  using namespace onnx_cudnn;
  if (argc < 2) return 1;
  if (argc > 2) {
    const std::string_view word = argv[2];
    if (word == "ends-early" || !SendFrame(STDIN_FILENO, "").ok()) return 1;
    if (!ReceiveFrame(STDIN_FILENO).ok() || word == "dies") return 1;
    if (!SendFrame(STDIN_FILENO, "42").ok()) return 1;
    return ReceiveFrame(STDIN_FILENO).ok() ? 0 : 1;
  }
  if (dlopen(STAND_IN_LIBCUDA, RTLD_NOW | RTLD_GLOBAL) == nullptr || !LoadCudnn().ok()) return 1;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string properties(std::istreambuf_iterator<char>(file), {});
  ServePlans(STDIN_FILENO, [&](const CudnnGraph& graph, std::string_view engine) {
    return BuildPlan(graph, engine, {.properties = properties});
  });
  return 0;
}
