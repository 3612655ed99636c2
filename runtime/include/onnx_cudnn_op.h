// Ops of your own, in a shared library that onnx-cudnn loads: SessionOptions::op_libraries,
// onnx_cudnn_session_options.op_libraries, --op-library. C11, also valid C++. A library needs this
// header and nothing else of onnx-cudnn: what it calls comes in onnx_cudnn_op_host.
//
//   static int32_t Infer(void* context, onnx_cudnn_op_call* call, ...) {
//     return host->set_output_like_input(call, 0, 0);
//   }
//   ONNX_CUDNN_OP_EXPORT int32_t onnx_cudnn_op_library(const onnx_cudnn_op_host* its_host,
//                                                      onnx_cudnn_op_registry* registry) {
//     host = its_host;
//     const onnx_cudnn_op op = {.struct_size = sizeof op, .api_version = ONNX_CUDNN_OP_API_VERSION,
//                               .domain = "com.example", .name = "Twice", .since_version = 1,
//                               .infer = Infer, .run = Run};
//     return host->add_op(registry, &op);
//   }
//
// Callbacks return 0, or what host->fail returns. They may be called by any number of threads at
// once, must not throw, and must not keep their arguments. The outputs of a node depend on its
// inputs and attributes alone: equal nodes may be merged, nodes that nobody reads are removed, and
// nothing else about the op is assumed.
#ifndef ONNX_CUDNN_OP_H_
#define ONNX_CUDNN_OP_H_

#include <stddef.h>
#include <stdint.h>

// Tensors are DLPack's: see onnx_cudnn.h, also for a dlpack.h of your own.
#ifndef DLPACK_MAJOR_VERSION
#include "onnx_cudnn_dlpack.h"
#endif

#define ONNX_CUDNN_OP_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// Version of this header, increased whenever something is added.
#define ONNX_CUDNN_OP_API_VERSION 1

typedef struct onnx_cudnn_op_registry onnx_cudnn_op_registry;
// A call of a callback for one node; valid until the callback returns.
typedef struct onnx_cudnn_op_call onnx_cudnn_op_call;

// What a callback receives.
//   inputs   NULL for an optional input that is absent; trailing absent ones are cut. Row-major
//   outputs  may be NULL for one that nobody reads
typedef struct onnx_cudnn_op_tensors {
  size_t struct_size;
  const DLTensor* const* inputs;
  size_t input_count;
  const DLTensor* const* outputs;  // in `infer`: none, only output_count is set
  size_t output_count;
} onnx_cudnn_op_tensors;

// What a launch of an op costs on a GPU.
typedef struct onnx_cudnn_op_price {
  size_t struct_size;
  double us;      // microseconds; 0: predicted from flops and bytes
  int64_t flops;  // 0 if unknown
  int64_t bytes;  // read and written; 0: the tensors' sizes
} onnx_cudnn_op_price;

// An op. Copied by add_op.
typedef struct onnx_cudnn_op {
  size_t struct_size;
  int32_t api_version;    // ONNX_CUDNN_OP_API_VERSION
  int32_t since_version;  // >= 1: models that import this version of the domain, or a later one
  const char* domain;     // "com.example"; not one of ONNX's
  const char* name;       // not the name of an op of ONNX's
  void* context;          // passed to the callbacks; lives as long as the process
  // Types and shapes of the outputs, by host->set_output…. Data of the inputs is NULL; a dim that
  // is not known yet is -1, and may be -1 in the outputs then. Called again with numbers before a
  // run.
  int32_t (*infer)(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors);
  // Computes the outputs, in host memory (kDLCPU), with the types and shapes that `infer` set.
  int32_t (*run)(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors);
  // Enqueues the same on `stream`, a cudaStream_t; tensors are in device memory (kDLCUDA) of the
  // current GPU. May be captured in a CUDA graph and replayed: it must not wait, allocate, or use
  // another stream. NULL: the op runs on the host on a GPU too.
  int32_t (*launch)(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors,
                    void* stream);
  // Fills in the price of a launch; data is NULL. Fast. NULL: predicted from the tensors' sizes.
  int32_t (*price)(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors,
                   onnx_cudnn_op_price* price);
} onnx_cudnn_op;

// The functions that a library may call; lives as long as the process.
typedef struct onnx_cudnn_op_host {
  size_t struct_size;
  int32_t api_version;  // of the library that loads: functions of later versions are not there
  int32_t reserved;
  // Registers an op, during onnx_cudnn_op_library. Returns what that shall return: 0, or an error.
  int32_t (*add_op)(onnx_cudnn_op_registry* registry, const onnx_cudnn_op* op);
  // Notes why a callback fails; returns the number that it shall return.
  int32_t (*fail)(onnx_cudnn_op_call* call, const char* message);

  // Attributes of the node. Return 1 if it has this one with this type; otherwise 0, and *value is
  // unchanged, so that it may hold the default. What they point to belongs to the node.
  int32_t (*get_int)(onnx_cudnn_op_call* call, const char* name, int64_t* value);
  int32_t (*get_float)(onnx_cudnn_op_call* call, const char* name, float* value);
  // The text ends with a zero byte, which `size` does not count.
  int32_t (*get_string)(onnx_cudnn_op_call* call, const char* name, const char** value,
                        size_t* size);
  int32_t (*get_ints)(onnx_cudnn_op_call* call, const char* name, const int64_t** values,
                      size_t* count);
  int32_t (*get_floats)(onnx_cudnn_op_call* call, const char* name, const float** values,
                        size_t* count);

  // In `infer`: the type of an output. Return 0, or an error that `infer` shall return.
  int32_t (*set_output)(onnx_cudnn_op_call* call, size_t output, DLDataType type, int32_t ndim,
                        const int64_t* shape);
  // The type and the shape of an input, its symbols included.
  int32_t (*set_output_like_input)(onnx_cudnn_op_call* call, size_t output, size_t input);
} onnx_cudnn_op_host;

// The function that a library exports, called once per process. Returns 0, or what add_op returned.
ONNX_CUDNN_OP_EXPORT int32_t onnx_cudnn_op_library(const onnx_cudnn_op_host* host,
                                                   onnx_cudnn_op_registry* registry);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ONNX_CUDNN_OP_H_
