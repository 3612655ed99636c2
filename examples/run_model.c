// run_model MODEL: runs an ONNX model with one float input on zeros (symbolic dims taken as 1) and
// prints its first output. The same in C++: run_model.cc.
#include <stdio.h>
#include <stdlib.h>

#include "onnx_cudnn.h"

enum { kMostDims = 8, kMostOutputs = 16 };

static int64_t ElementsOf(const int64_t* shape, int64_t rank) {
  int64_t elements = 1;
  for (int64_t i = 0; i < rank; ++i) elements *= shape[i];
  return elements;
}

// The shape of the only input. Returns its rank, -1 if it is unknown or too large.
static int64_t InputShape(const onnx_cudnn_session* session, int64_t* shape) {
  const onnx_cudnn_value_list* inputs;
  onnx_cudnn_value_info info = {.struct_size = sizeof info};
  if (onnx_cudnn_session_get_inputs(session, &inputs) != ONNX_CUDNN_OK ||
      onnx_cudnn_value_list_get(inputs, 0, &info) != ONNX_CUDNN_OK || info.rank > kMostDims) {
    return -1;
  }
  for (int64_t i = 0; i < info.rank; ++i) shape[i] = info.dims[i] < 0 ? 1 : info.dims[i];
  return info.rank;
}

static onnx_cudnn_status RunOnZeros(const onnx_cudnn_session* session) {
  const onnx_cudnn_value_list* outputs;
  onnx_cudnn_status status = onnx_cudnn_session_get_outputs(session, &outputs);
  if (status != ONNX_CUDNN_OK) return status;
  const size_t output_count = onnx_cudnn_value_list_size(outputs);
  int64_t shape[kMostDims];
  const int64_t rank = InputShape(session, shape);
  if (rank < 0 || output_count > kMostOutputs) {
    fprintf(stderr, "the input has no rank that is known, or too many dims, or too many outputs\n");
    return ONNX_CUDNN_UNIMPLEMENTED;
  }

  const int64_t elements = ElementsOf(shape, rank);
  float* zeros = calloc(elements > 0 ? (size_t)elements : 1, sizeof(float));
  const DLTensor input = {.data = zeros,
                          .device = {kDLCPU, 0},
                          .ndim = (int32_t)rank,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = shape};
  const DLTensor* inputs[] = {&input};
  DLManagedTensorVersioned* results[kMostOutputs];
  status = onnx_cudnn_session_run(session, NULL, inputs, 1, results, output_count, NULL);
  free(zeros);
  if (status != ONNX_CUDNN_OK) return status;

  const DLTensor* first = &results[0]->dl_tensor;
  const float* numbers = first->data;
  for (int64_t i = 0; i < ElementsOf(first->shape, first->ndim); ++i) printf("%g\n", numbers[i]);
  for (size_t i = 0; i < output_count; ++i) results[i]->deleter(results[i]);
  return ONNX_CUDNN_OK;
}

int main(int argc, char** argv) {
  onnx_cudnn_session* session;
  onnx_cudnn_status status =
      onnx_cudnn_session_load(argc > 1 ? argv[1] : "model.onnx", NULL, &session);
  if (status == ONNX_CUDNN_OK) status = RunOnZeros(session);
  if (status != ONNX_CUDNN_OK) {
    fprintf(stderr, "%s: %s\n", onnx_cudnn_status_name(status), onnx_cudnn_last_error());
  }
  onnx_cudnn_session_destroy(session);
  return status == ONNX_CUDNN_OK ? 0 : 1;
}
