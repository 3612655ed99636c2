// load_and_close LIBRARY: loads the library while the program runs, twice, uses it, closes it and
// does so again. Exit code 0: all went well.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/model_bytes.h"

namespace {

constexpr int64_t kN = 256;

void Check(bool ok, const char* what) {
  if (ok) return;
  const char* error = dlerror();
  std::fprintf(stderr, "%s: %s\n", what, error == nullptr ? "" : error);
  std::exit(1);
}

template <typename Function>
Function* Find(void* library, const char* name) {
  void* found = dlsym(library, name);
  Check(found != nullptr, name);
  return reinterpret_cast<Function*>(found);
}

// A product of ones, on all cores: the library's threads outlive it.
void Use(void* library) {
  const std::string model = onnx_cudnn::BytesOf({.nodes = {{"MatMul", "", {"x", "x"}, {"y"}}},
                                                 .inputs = {{"x", 1, {"N", "N"}}},
                                                 .outputs = {{"y", 1, {"N", "N"}}}});
  onnx_cudnn_session_options options;
  Check(Find<decltype(onnx_cudnn_session_options_init)>(library, "onnx_cudnn_session_options_init")(
            &options, sizeof(options)) == ONNX_CUDNN_OK,
        "options");
  options.device = ONNX_CUDNN_DEVICE_CPU;
  onnx_cudnn_session* session = nullptr;
  Check(Find<decltype(onnx_cudnn_session_load_bytes)>(library, "onnx_cudnn_session_load_bytes")(
            model.data(), model.size(), &options, &session) == ONNX_CUDNN_OK,
        "load");
  std::vector<float> x(kN * kN, 1), y(kN * kN);
  int64_t shape[] = {kN, kN};
  DLTensor input{x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor output{y.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor *inputs[] = {&input}, *outputs[] = {&output};
  Check(Find<decltype(onnx_cudnn_session_run_into)>(library, "onnx_cudnn_session_run_into")(
            session, nullptr, inputs, 1, nullptr, outputs, 1, nullptr) == ONNX_CUDNN_OK,
        "run");
  Check(y[0] == kN && y[kN * kN - 1] == kN, "product");
  Find<decltype(onnx_cudnn_session_destroy)>(library, "onnx_cudnn_session_destroy")(session);
}

}  // namespace

int main(int argc, char** argv) {
  Check(argc == 2, "usage: load_and_close LIBRARY");
  for (int round = 0; round < 3; ++round) {
    void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    Check(first != nullptr, "dlopen");
    void* second = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    Check(second == first, "dlopen again");
    Use(first);
    Check(dlclose(second) == 0 && dlclose(first) == 0, "dlclose");
    void* stays = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    Check(stays != nullptr, "it was unloaded");
    dlclose(stays);
  }
  return 0;
}
