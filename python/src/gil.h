// Releasing and taking the GIL, also while the interpreter ends.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace onnx_cudnn::python {

// Calls `work` with the GIL, from a thread that does not hold it. Does nothing and returns false
// once the interpreter ends.
bool WithGil(const std::function<void()>& work);

// Releases the GIL while it lives. A thread that wants it back when the interpreter has ended would
// be ended by Python within a destructor, and the process with it: such a thread waits for the end
// of the process instead.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// From the thread that ends the interpreter, with the GIL: waits for the threads that are taking
// it; from then on no other thread takes it.
void CloseGil();

}  // namespace onnx_cudnn::python
