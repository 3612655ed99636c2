// Libraries of ops for op_library_test.cc, one per ODD_… that is defined.
#include "onnx_cudnn_op.h"

#ifndef ODD_WITHOUT_ENTRY
static const onnx_cudnn_op_host* host;

static int32_t Infer(void* context, onnx_cudnn_op_call* call,
                     const onnx_cudnn_op_tensors* tensors) {
  (void)context;
  int64_t fails = 0;
  host->get_int(call, "infer_fails", &fails);
  if (fails != 0) return host->fail(call, "infer does not like it");
  if (host->get_int(call, "forgets", &fails)) return 0;
  for (size_t i = 0; i < tensors->output_count; ++i) host->set_output_like_input(call, i, 0);
  return 0;
}

static int32_t Run(void* context, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors) {
  (void)context;
  (void)tensors;
  return host->fail(call, "run does not like it");
}

int32_t onnx_cudnn_op_library(const onnx_cudnn_op_host* its_host,
                              onnx_cudnn_op_registry* registry) {
  host = its_host;
  onnx_cudnn_op op = {.struct_size = sizeof op,
                      .api_version = ONNX_CUDNN_OP_API_VERSION,
                      .since_version = 1,
                      .domain = "com.example.odd",
                      .name = "Fails",
                      .infer = Infer,
                      .run = Run};
#ifdef ODD_LATER_VERSION
  op.api_version = 99;
#endif
#ifdef ODD_TWICE
  host->add_op(registry, &op);  // of a library that the test has loaded: none of both is taken
  op.domain = "com.example";
  op.name = "ScaledSwish";
#endif
#ifdef ODD_ONNX_NAME
  op.name = "Relu";
#endif
#ifdef ODD_ONNX_DOMAIN
  op.domain = "ai.onnx.ml";
#endif
#ifdef ODD_WITHOUT_RUN
  op.run = NULL;
#endif
#ifdef ODD_RETURNS_5
  return 5;
#endif
  return host->add_op(registry, &op);
}
#else
int32_t Unrelated(void);
int32_t Unrelated(void) { return 0; }
#endif
