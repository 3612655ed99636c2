#include "python/src/callbacks.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "onnx_cudnn/log.h"
#include "python/src/gil.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

using Message = std::pair<int, std::string>;  // severity and text

// Messages that Python has not taken. The sink never waits for the GIL: the thread that holds it
// may be waiting for the logging thread.
struct Queue {
  static constexpr size_t kMost = 10000;  // older ones are dropped
  std::mutex mutex;
  std::vector<Message> messages;
  bool scheduled = false;     // a pending call will drain it
  PyObject* drain = nullptr;  // a Python function without arguments
};

Queue& TheQueue() {
  static Queue& queue = *new Queue;
  return queue;
}

int DrainFromMainThread(void* /*unused*/) {
  PyObject* drain = nullptr;
  {
    std::lock_guard lock(TheQueue().mutex);
    TheQueue().scheduled = false;
    drain = TheQueue().drain;
  }
  if (drain == nullptr) return 0;
  PyObject* done = PyObject_CallNoArgs(drain);
  if (done == nullptr) PyErr_WriteUnraisable(drain);
  Py_XDECREF(done);
  return 0;
}

void Receive(LogSeverity severity, std::string_view text) {
  Queue& queue = TheQueue();
  std::lock_guard lock(queue.mutex);
  if (queue.drain == nullptr) return;  // the interpreter ends
  if (queue.messages.size() == Queue::kMost) queue.messages.erase(queue.messages.begin());
  queue.messages.emplace_back(static_cast<int>(severity), text);
  if (!queue.scheduled) queue.scheduled = Py_AddPendingCall(DrainFromMainThread, nullptr) == 0;
}

std::vector<Message> TakeMessages() {
  std::lock_guard lock(TheQueue().mutex);
  return std::exchange(TheQueue().messages, {});
}

void OpenLog(nb::object drain) {
  {
    std::lock_guard lock(TheQueue().mutex);
    Py_XDECREF(TheQueue().drain);
    TheQueue().drain = drain.release().ptr();
  }
  Released released;
  SetLogSink(Receive);
}

void CloseCallbacks() {
  {
    Released released;
    SetLogSink({});
  }
  PyObject* drain = nullptr;
  {
    std::lock_guard lock(TheQueue().mutex);
    drain = std::exchange(TheQueue().drain, nullptr);
  }
  Py_XDECREF(drain);
  CloseGil();
}

// Copies may end on any thread, which then needs the GIL to drop the callable. Leaked if the
// interpreter ends.
struct DropWithGil {
  void operator()(PyObject* object) const {
    WithGil([object] { Py_DECREF(object); });
  }
};

const char* NameOf(ProgressStage stage) {
  switch (stage) {
    case ProgressStage::kLoading:
      return "loading";
    case ProgressStage::kOptimizing:
      return "optimizing";
    case ProgressStage::kBuilding:
      return "building";
    case ProgressStage::kTuning:
      return "tuning";
  }
  return "";
}

bool Call(PyObject* callable, const Progress& progress) {
  try {
    const nb::object answer = nb::borrow(callable)(
        NameOf(progress.stage), progress.done, progress.total,
        nb::steal(PyUnicode_DecodeUTF8(progress.text.data(),
                                       static_cast<Py_ssize_t>(progress.text.size()), "replace")));
    return answer.ptr() != Py_False;
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("progress callback of onnx_cudnn");
    return false;
  }
}

}  // namespace

ProgressCallback ProgressOf(nb::object callable) {
  std::shared_ptr<PyObject> kept(callable.release().ptr(), DropWithGil());
  return [kept](const Progress& progress) {
    bool goes_on = true;
    WithGil([&] { goes_on = Call(kept.get(), progress); });
    return goes_on;
  };
}

void BindCallbacks(nb::module_& module) {
  module.def("take_messages", &TakeMessages,
             "Messages since the last call: severity (0 info, 1 warning, 2 error) and text.");
  module.def("open_log", &OpenLog, nb::arg("drain"),
             "Collects the library's messages; `drain` is then called by the main thread.");
  module.def("close_callbacks", &CloseCallbacks,
             "Before the interpreter ends: no thread calls Python from then on.");
}

}  // namespace onnx_cudnn::python
