// A library with one op of its own, com.example.ScaledSwish: y = scale * x * sigmoid(x) on floats
// of any shape, with a float attribute `scale` (1 if it is absent). Built with CUDA it runs on a
// GPU too (scaled_swish.cu).
//
//   onnx-cudnn-run model.onnx --op-library ./libscaled_swish.so
#include <math.h>

#include "onnx_cudnn_op.h"

static const onnx_cudnn_op_host* host;

static float ScaleOf(onnx_cudnn_op_call* call) {
  float scale = 1;
  host->get_float(call, "scale", &scale);
  return scale;
}

static int64_t ElementsOf(const DLTensor* tensor) {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) elements *= tensor->shape[i];
  return elements;
}

static int32_t Infer(void* context, onnx_cudnn_op_call* call,
                     const onnx_cudnn_op_tensors* tensors) {
  (void)context;
  if (tensors->input_count != 1 || tensors->output_count != 1 || tensors->inputs[0] == NULL) {
    return host->fail(call, "expected one input and one output");
  }
  const DLDataType type = tensors->inputs[0]->dtype;
  if (type.code != kDLFloat || type.bits != 32) {
    return host->fail(call, "expected an input of 32-bit floats");
  }
  return host->set_output_like_input(call, 0, 0);
}

static int32_t Run(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors) {
  (void)context;
  const float scale = ScaleOf(call);
  const float* x = tensors->inputs[0]->data;
  float* y = tensors->outputs[0]->data;
  const int64_t elements = ElementsOf(tensors->inputs[0]);
  for (int64_t i = 0; i < elements; ++i) y[i] = scale * x[i] / (1 + expf(-x[i]));
  return 0;
}

#ifdef SCALED_SWISH_HAS_CUDA
// Of scaled_swish.cu. Returns the name of CUDA's error; NULL: it is on the stream.
const char* LaunchScaledSwish(const float* x, float* y, int64_t elements, float scale,
                              void* stream);

static int32_t Launch(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors,
                      void* stream) {
  (void)context;
  const DLTensor* x = tensors->inputs[0];
  const char* error =
      LaunchScaledSwish(x->data, tensors->outputs[0]->data, ElementsOf(x), ScaleOf(call), stream);
  return error == NULL ? 0 : host->fail(call, error);
}
#else
#define Launch NULL
#endif

// Its bytes decide: the prediction from flops and bytes is good enough.
static int32_t Price(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors,
                     onnx_cudnn_op_price* price) {
  (void)context;
  (void)call;
  price->flops = 5 * ElementsOf(tensors->inputs[0]);
  return 0;
}

int32_t onnx_cudnn_op_library(const onnx_cudnn_op_host* its_host,
                              onnx_cudnn_op_registry* registry) {
  host = its_host;
  const onnx_cudnn_op op = {.struct_size = sizeof op,
                            .api_version = ONNX_CUDNN_OP_API_VERSION,
                            .since_version = 1,
                            .domain = "com.example",
                            .name = "ScaledSwish",
                            .infer = Infer,
                            .run = Run,
                            .launch = Launch,
                            .price = Price};
  return host->add_op(registry, &op);
}
