// The kernel of scaled_swish.c.
#include <cstdint>

namespace {

constexpr int kThreads = 256;

__global__ void ScaledSwish(const float* x, float* y, int64_t elements, float scale) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < elements) y[i] = scale * x[i] / (1 + expf(-x[i]));
}

}  // namespace

extern "C" const char* LaunchScaledSwish(const float* x, float* y, int64_t elements, float scale,
                                         void* stream) {
  if (elements == 0) return nullptr;
  const auto blocks = static_cast<unsigned>((elements + kThreads - 1) / kThreads);
  ScaledSwish<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(x, y, elements, scale);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorName(error);
}
