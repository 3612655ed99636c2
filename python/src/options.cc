#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "onnx_cudnn/options.h"
#include "python/src/callbacks.h"
#include "python/src/session.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

void BindEnums(nb::module_& module) {
  nb::enum_<DeviceChoice>(module, "DeviceChoice", "Where a Session runs.")
      .value("auto", DeviceChoice::kAuto)
      .value("cpu", DeviceChoice::kCpu)
      .value("cuda", DeviceChoice::kCuda);
  nb::enum_<PartitionerChoice>(module, "PartitionerChoice", "How ops are grouped.")
      .value("greedy", PartitionerChoice::kGreedy)
      .value("cost", PartitionerChoice::kCost);
  nb::enum_<PrecisionChoice>(module, "PrecisionChoice", "Precision of f32 arithmetic.")
      .value("auto", PrecisionChoice::kAuto)
      .value("strict", PrecisionChoice::kStrict)
      .value("tf32", PrecisionChoice::kTf32)
      .value("fp16", PrecisionChoice::kFp16)
      .value("bf16", PrecisionChoice::kBf16);
  nb::enum_<TuneMode>(module, "TuneMode", "When the tuner measures.")
      .value("foreground", TuneMode::kForeground)
      .value("background", TuneMode::kBackground);
  nb::enum_<FirstProgram>(module, "FirstProgram", "What the first runs for new shapes use.")
      .value("best", FirstProgram::kBest)
      .value("quick", FirstProgram::kQuick);
}

}  // namespace

void BindOptions(nb::module_& module) {
  BindEnums(module);
  nb::class_<SharedArena>(module, "SharedArena",
                          "Device memory for intermediate values of several sessions.")
      .def(nb::init<int64_t>(), nb::arg("bytes"))
      .def_prop_ro("bytes", &SharedArena::bytes);
  using Options = SessionOptions;
  nb::class_<Options>(module, "SessionOptions", "The fields of onnx_cudnn/options.h.")
      .def(nb::init<>())
      .def(nb::init<const Options&>(), nb::arg("other"), "A copy.")
      .def_rw("device", &Options::device)
      .def_rw("device_ordinal", &Options::device_ordinal)
      .def_rw("devices", &Options::devices)
      .def_rw("rerun_if_lost", &Options::rerun_if_lost)
      .def_rw("threads", &Options::threads)
      .def_rw("optimization_level", &Options::optimization_level)
      .def_rw("precision", &Options::precision)
      .def_rw("allow_nondeterministic", &Options::allow_nondeterministic)
      .def_rw("disabled_passes", &Options::disabled_passes)
      .def_rw("op_libraries", &Options::op_libraries)
      .def_rw("target", &Options::target)
      .def_rw("compute_capability", &Options::compute_capability)
      .def_rw("partitioner", &Options::partitioner)
      .def_rw("pins", &Options::pins)
      .def_rw("tune_budget_s", &Options::tune_budget_s)
      .def_rw("tune", &Options::tune)
      .def_rw("first_program", &Options::first_program)
      .def_rw("plan_cache", &Options::plan_cache)
      .def_rw("tune_worker", &Options::tune_worker)
      .def_rw("map_external_data", &Options::map_external_data)
      .def_rw("follow_hub_links", &Options::follow_hub_links)
      .def_rw("streams", &Options::streams)
      .def_rw("cuda_graph", &Options::cuda_graph)
      .def_rw("max_memory_bytes", &Options::max_memory_bytes)
      .def_rw("arena", &Options::arena, nb::arg().none())
      .def_rw("max_programs", &Options::max_programs)
      .def_rw("shape_buckets", &Options::shape_buckets)
      .def_rw("max_executors_per_program", &Options::max_executors_per_program)
      .def_rw("keep_f32", &Options::keep_f32)
      .def_rw("check_finite", &Options::check_finite)
      .def(
          "set_progress",
          [](Options& options, nb::object callable) {
            options.progress = callable.is_none() ? nullptr : ProgressOf(std::move(callable));
          },
          nb::arg("callable").none(), "callable(stage, done, total, text), or None.");
}

}  // namespace onnx_cudnn::python
