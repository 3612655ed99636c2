// planted_fault memcheck|racecheck: runs a kernel with an error that this tool of compute-sanitizer
// must find. gpu.sh uses it to prove that the tools check our kernels.
#include <cstdio>
#include <cstring>

namespace {

constexpr int kThreads = 64;

// Writes one element past the end.
__global__ void WriteBeyond(int* to, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i <= count) to[i] = i;
}

// Reads what another warp writes, without a barrier.
__global__ void ReadBehind(int* to) {
  __shared__ int shared[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  shared[i] = i;
  to[i % (kThreads - 1)] = shared[kThreads - 1 - i];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: planted_fault memcheck|racecheck\n");
    return 2;
  }
  int* numbers = nullptr;
  if (cudaMalloc(&numbers, (kThreads - 1) * sizeof(int)) != cudaSuccess) return 2;
  if (std::strcmp(argv[1], "memcheck") == 0) {
    WriteBeyond<<<1, kThreads>>>(numbers, kThreads - 1);
  } else {
    ReadBehind<<<1, kThreads>>>(numbers);
  }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 2;
}
