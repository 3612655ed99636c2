#pragma once

// Put before a function: compiles it for several CPU generations; the program selects one at start.
// Not under sanitizers, whose runtime is not initialized yet when the selection is made, and not by
// clang, which builds the fuzzers and has no clones of templates.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define ONNX_CUDNN_CPU_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ONNX_CUDNN_CPU_CLONES
#endif
