// libFuzzer's entry point; calls the function that the build passes as FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  onnx_cudnn::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
