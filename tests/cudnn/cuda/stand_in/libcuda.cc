// A stand-in for libcuda.so.1, the driver, for hosts without a GPU. Every function fails like
// NVIDIA's stub library, except those that load code: they return handles that nothing reads. With
// it cuDNN compiles for a device that is described by its properties only. These are the functions
// that cuDNN 9 and the CUDA runtime look up; for each one that is missing a line is printed.

namespace {
constexpr int kSuccess = 0, kStubLibrary = 34;  // CUresult
char handle;

int Give(void** result) {
  if (result != nullptr) *result = &handle;
  return kSuccess;
}
int GiveNumber(int* result, int number) {
  if (result != nullptr) *result = number;
  return kSuccess;
}
}  // namespace

// All are called through pointers, with more arguments than are declared here.
#define FAILS(name) \
  int name() { return kStubLibrary; }
#define SUCCEEDS(name) \
  int name() { return kSuccess; }
#define GIVES(name) \
  int name(void** result) { return Give(result); }

extern "C" {
GIVES(cuKernelGetFunction)
GIVES(cuLibraryGetKernel)
GIVES(cuLibraryGetModule)
GIVES(cuLibraryLoadData)
GIVES(cuModuleGetFunction)
GIVES(cuModuleLoadData)
GIVES(cuModuleLoadDataEx)
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuModuleUnload)
int cuFuncGetAttribute(int* value) { return GiveNumber(value, 0); }
int cuKernelGetAttribute(int* value) { return GiveNumber(value, 0); }
int cuLibraryGetKernelCount(int* count) { return GiveNumber(count, 1); }

FAILS(cuCtxGetCurrent)
FAILS(cuCtxGetLimit)
FAILS(cuCtxPopCurrent)
FAILS(cuCtxPushCurrent)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetCount)
FAILS(cuDriverGetVersion)
FAILS(cuGetErrorName)
FAILS(cuGetErrorString)
FAILS(cuGetProcAddress)
FAILS(cuGetProcAddress_v2)
FAILS(cuInit)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLibraryLoadFromFile)
FAILS(cuLinkAddData)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkDestroy)
FAILS(cuOccupancyMaxPotentialClusterSize)
FAILS(cuStreamGetCtx)
}  // extern "C"
