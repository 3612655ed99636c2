#include "onnx_cudnn/batcher.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/session.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

// Python objects of a request. Its thread lets them go, without holding the GIL.
struct Held {
  nb::object done, inputs, cancel;
};
std::shared_ptr<Held> Hold(Held held) {
  return {new Held(std::move(held)), [](Held* kept) { WithGil([kept] { delete kept; }); }};
}

// done(outputs, code, message): a list of Tensors and None, or None and the number of the error.
void Call(const Held& held, Result<std::vector<Tensor>> outputs) {
  try {
    if (!outputs.ok()) {
      const Error& error = outputs.error();
      held.done(nb::none(), static_cast<int>(error.code), error.message);
      return;
    }
    nb::list tensors;
    for (Tensor& output : outputs.value()) tensors.append(PyTensor(std::move(output)));
    held.done(tensors, nb::none(), "");
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("the end of a request");
  } catch (const std::exception& error) {  // memory, a conversion
    PyErr_SetString(PyExc_RuntimeError, error.what());
    PyErr_WriteUnraisable(held.done.ptr());
  }
}

// Throws for a number that no clock has.
double Seconds(const char* name, double seconds) {
  if (std::abs(seconds) < 1e9) return seconds;
  ThrowInvalid(std::string(name) + ": expected a number of seconds");
}

// Every call that can take time is made without the GIL, the destructor's too.
class PyBatcher {
 public:
  PyBatcher(nb::object session, const BatcherOptions& options)
      : session_(std::move(session)),
        batcher_(
            std::make_unique<Batcher>(ValueOf(Batcher::Create(SessionOf(session_), options)))) {}
  PyBatcher(PyBatcher&&) noexcept = default;
  ~PyBatcher() {
    Released released;
    batcher_.reset();
  }

  void Submit(nb::object inputs, nb::object done, std::optional<double> timeout_s,
              nb::object cancel) {
    const std::vector<NamedView> views = ViewsOf(nb::cast<NamedTensors>(inputs));
    RequestOptions options;
    if (timeout_s.has_value()) {
      const std::chrono::duration<double> timeout(Seconds("timeout_s", *timeout_s));
      options.deadline = std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout);
    }
    if (!cancel.is_none()) options.cancel = nb::cast<const CancelFlag&>(cancel).raw();
    std::shared_ptr<Held> held = Hold({std::move(done), std::move(inputs), std::move(cancel)});
    Released released;
    batcher_->Submit(
        views,
        [held = std::move(held)](Result<std::vector<Tensor>> outputs) {
          WithGil([&] { Call(*held, std::move(outputs)); });
        },
        options);
  }
  void Stop() {
    Released released;
    batcher_->Stop();
  }
  BatcherStats Stats() const { return batcher_->stats(); }

 private:
  nb::object session_;
  std::unique_ptr<Batcher> batcher_;
};

BatcherOptions OptionsOf(int64_t max_batch, double max_delay_s, std::vector<int64_t> batch_sizes,
                         int64_t max_queued, int threads) {
  const std::chrono::duration<double> delay(Seconds("max_delay_s", max_delay_s));
  return {.max_batch = max_batch,
          .max_delay = std::chrono::duration_cast<std::chrono::microseconds>(delay),
          .batch_sizes = std::move(batch_sizes),
          .max_queued = max_queued,
          .threads = threads};
}

}  // namespace

void BindBatcher(nb::module_& module) {
  nb::class_<BatcherStats>(module, "BatcherStats", "What a batcher has done.")
      .def_ro("requests", &BatcherStats::requests, "accepted")
      .def_ro("refused", &BatcherStats::refused, "because too many rows waited")
      .def_ro("cancelled", &BatcherStats::cancelled, "while they waited")
      .def_ro("failed", &BatcherStats::failed, "with another error")
      .def_ro("batches", &BatcherStats::batches, "runs")
      .def_ro("rows", &BatcherStats::rows, "of requests, in these")
      .def_ro("padding_rows", &BatcherStats::padding_rows, "copies, in these")
      .def_ro("queued_rows", &BatcherStats::queued_rows, "that wait now")
      .def("__repr__", [](const BatcherStats& s) {
        return nb::str(
                   "BatcherStats(requests={}, refused={}, cancelled={}, failed={}, batches={}, "
                   "rows={}, padding_rows={}, queued_rows={})")
            .format(s.requests, s.refused, s.cancelled, s.failed, s.batches, s.rows, s.padding_rows,
                    s.queued_rows);
      });
  nb::class_<PyBatcher>(module, "Batcher", "Joins requests into runs of a session.")
      .def(
          "__init__",
          [](PyBatcher* self, nb::object session, int64_t max_batch, double max_delay_s,
             std::vector<int64_t> batch_sizes, int64_t max_queued, int threads) {
            new (self) PyBatcher(
                std::move(session),
                OptionsOf(max_batch, max_delay_s, std::move(batch_sizes), max_queued, threads));
          },
          nb::arg("session"), nb::arg("max_batch"), nb::arg("max_delay_s"), nb::arg("batch_sizes"),
          nb::arg("max_queued"), nb::arg("threads"))
      .def("submit", &PyBatcher::Submit, nb::arg("inputs"), nb::arg("done"),
           nb::arg("timeout_s").none(), nb::arg("cancel").none(),
           "Calls done(outputs, code, message) from another thread.")
      .def("stop", &PyBatcher::Stop, "Runs what waits, accepts nothing more.")
      .def("stats", &PyBatcher::Stats);
}

}  // namespace onnx_cudnn::python
