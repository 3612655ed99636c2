#pragma once

namespace onnx_cudnn {

// The calling thread's current GPU: -1 if there is none or it cannot be read.
int CurrentCudaDevice();

// Makes it current again, if it is not and the process uses it. Making another GPU current would
// create a context there: a quarter of a second and hundreds of MB.
void RestoreCudaDevice(int ordinal);

}  // namespace onnx_cudnn
