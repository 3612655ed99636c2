#include "runtime/base/crc32c.h"

#include <cstring>

#include "absl/crc/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace onnx_cudnn {
namespace {

#if defined(__x86_64__)
// Abseil is built for every x86-64 CPU, without this instruction.
__attribute__((target("sse4.2"))) uint32_t ByInstruction(std::string_view bytes) {
  uint64_t crc = 0xffffffff;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto last = static_cast<uint32_t>(crc);
  for (const char byte : bytes) last = _mm_crc32_u8(last, static_cast<uint8_t>(byte));
  return ~last;
}
#endif

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ByInstruction(bytes);
#endif
  return static_cast<uint32_t>(absl::ComputeCrc32c(bytes));
}

}  // namespace onnx_cudnn
