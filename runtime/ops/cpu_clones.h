#pragma once

// Before a function: it is compiled for several generations of CPUs, and the program picks one when
// it starts. Not under sanitizers, whose runtime is not initialized when the choice is made.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ONNX_CUDNN_CPU_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ONNX_CUDNN_CPU_CLONES
#endif
