// A program in C11: what it uses of the C API, and the layout of version 1, which never changes.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"  // a field that is appended must not fall into padding
#include "onnx_cudnn.h"
#pragma GCC diagnostic pop

#include "tests/c_api/c_program.h"

#define LIES_AT(type, field, offset) \
  _Static_assert(offsetof(onnx_cudnn_##type, field) == (offset), #type "." #field)
#define HAS_SIZE(type, size) _Static_assert(sizeof(onnx_cudnn_##type) == (size), #type)

LIES_AT(session_options, struct_size, 0);
LIES_AT(session_options, device, 8);
LIES_AT(session_options, compute_capability, 36);
LIES_AT(session_options, target, 40);
LIES_AT(session_options, disabled_pass_count, 64);
LIES_AT(session_options, tune, 96);
LIES_AT(session_options, plan_cache, 104);
LIES_AT(session_options, progress, 120);
LIES_AT(session_options, cancel, 136);
LIES_AT(session_options, map_external_data, 144);
LIES_AT(session_options, first_program, 164);
LIES_AT(session_options, max_memory_bytes, 168);
LIES_AT(session_options, arena, 176);
LIES_AT(session_options, shape_buckets, 184);
LIES_AT(session_options, devices, 200);
LIES_AT(session_options, rerun_if_lost, 216);
LIES_AT(session_options, check_finite, 220);
LIES_AT(session_options, keep_f32, 224);
HAS_SIZE(session_options, 240);
LIES_AT(run_options, stream, 8);
LIES_AT(run_options, cancel, 16);
HAS_SIZE(run_options, 24);
LIES_AT(session_info, device_type, 24);
LIES_AT(session_info, product, 40);
HAS_SIZE(session_info, 72);
LIES_AT(session_stats, tuned_signatures, 48);
LIES_AT(session_stats, segments, 120);
HAS_SIZE(session_stats, 168);
LIES_AT(value_info, kind, 16);
LIES_AT(value_info, rank, 24);
HAS_SIZE(value_info, 48);
HAS_SIZE(string, 16);

int32_t RunInC(const void* model, size_t size, const float* x, float* y) {
  onnx_cudnn_session_options options;
  onnx_cudnn_status status = onnx_cudnn_session_options_init(&options, sizeof options);
  if (status != ONNX_CUDNN_OK) return status;
  options.device = ONNX_CUDNN_DEVICE_CPU;
  onnx_cudnn_session* session;
  status = onnx_cudnn_session_load_bytes(model, size, &options, &session);
  if (status != ONNX_CUDNN_OK) return status;

  int64_t shape[] = {1, 2};
  const DLTensor input = {.data = (void*)(uintptr_t)x,
                          .device = {kDLCPU, 0},
                          .ndim = 2,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = shape};
  DLTensor output = input;
  output.data = y;
  const char* input_names[] = {"x"};
  const char* output_names[] = {"y"};
  const DLTensor* inputs[] = {&input};
  const DLTensor* outputs[] = {&output};
  status =
      onnx_cudnn_session_run_into(session, input_names, inputs, 1, output_names, outputs, 1, NULL);
  onnx_cudnn_session_destroy(session);
  return status;
}
