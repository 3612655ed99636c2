#include "python/src/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onnx_cudnn/session.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/tensor.h"
#include "python/src/values.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

RunOptions RunOptionsOf(uint64_t stream, const CancelFlag* cancel) {
  return {.stream = reinterpret_cast<void*>(stream),
          .cancel = cancel == nullptr ? nullptr : cancel->raw()};
}

nb::dict DictOf(const ProfiledStep& step) {
  nb::dict dict;
  dict["index"] = step.index;
  dict["segment"] = step.segment;
  dict["stream"] = step.stream;
  dict["engine"] = step.engine;
  dict["variant"] = step.variant;
  dict["nodes"] = step.nodes;
  dict["ops"] = step.ops;
  dict["us"] = step.us;
  dict["share"] = step.share;
  dict["floor_us"] = step.floor_us;
  dict["of_floor"] = step.of_floor();
  dict["flops"] = step.flops;
  dict["bytes"] = step.bytes;
  dict["gb_per_s"] = step.gb_per_s();
  dict["tflop_per_s"] = step.tflop_per_s();
  return dict;
}

nb::dict DictOf(const CheckedOutput& checked) {
  nb::dict dict;
  dict["engine"] = checked.engine;
  dict["variant"] = checked.variant;
  dict["ops"] = checked.ops;
  dict["output"] = checked.output;
  dict["ok"] = checked.ok;
  dict["largest_difference"] = checked.largest_difference;
  dict["largest_expected"] = checked.largest_expected;
  dict["share_of_tolerance"] = checked.share_of_tolerance;
  dict["largest_relative"] = checked.largest_relative;
  dict["largest_ulps"] = checked.largest_ulps;
  dict["cosine"] = checked.cosine;
  dict["note"] = checked.note;
  return dict;
}

nb::dict DictOf(const CheckedPartition& checked) {
  nb::dict dict = DictOf(static_cast<const CheckedOutput&>(checked));
  nb::list alone;
  for (const CheckedOutput& op : checked.op_by_op) alone.append(DictOf(op));
  dict["index"] = checked.index;
  dict["nodes"] = checked.nodes;
  dict["op_by_op"] = alone;
  dict["share_of_f32"] = checked.share_of_f32;
  dict["overflowed"] = checked.overflowed;
  return dict;
}

class PyBinding {
 public:
  // Keeps the Python objects whose memory is bound.
  PyBinding(Binding binding, nb::object inputs, nb::object outputs)
      : binding_(std::make_unique<Binding>(std::move(binding))),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}
  PyBinding(PyBinding&&) noexcept = default;
  ~PyBinding() {
    Released released;
    binding_.reset();
  }

  void Run(uint64_t stream, const CancelFlag* cancel) {
    Released released;
    Check(binding_->Run(RunOptionsOf(stream, cancel)));
  }
  std::vector<double> TimeRuns(int runs) {
    Released released;
    return ValueOf(binding_->TimeRuns(runs));
  }
  std::string_view graph_note() const { return binding_->graph_note(); }

 private:
  std::unique_ptr<Binding> binding_;
  nb::object inputs_, outputs_;
};

// Every call that can take time is made without the GIL, the destructor's too.
class PySession {
 public:
  explicit PySession(Session session) : session_(std::make_unique<Session>(std::move(session))) {}
  PySession(PySession&&) noexcept = default;
  ~PySession() {
    Released released;
    session_.reset();
  }

  static PySession Load(const std::string& path, const SessionOptions& options) {
    Released released;
    return PySession(ValueOf(Session::Load(path, options)));
  }
  static PySession LoadBytes(const nb::bytes& bytes, const SessionOptions& options) {
    const std::string_view view(bytes.c_str(), bytes.size());
    Released released;
    return PySession(ValueOf(Session::LoadBytes(view, options)));
  }

  std::vector<PyTensor> Run(const NamedTensors& inputs, uint64_t stream,
                            const CancelFlag* cancel) const {
    std::vector<Tensor> outputs;
    {
      Released released;
      outputs = ValueOf(session_->Run(ViewsOf(inputs), RunOptionsOf(stream, cancel)));
    }
    std::vector<PyTensor> tensors;
    for (Tensor& output : outputs) tensors.emplace_back(std::move(output));
    return tensors;
  }
  // inputs  {name: value} as ModelValueOf takes them
  nb::list RunValues(const nb::dict& inputs, uint64_t stream, const CancelFlag* cancel) const {
    std::vector<NamedValue> values;
    for (auto [name, value] : inputs) {
      values.emplace_back(nb::cast<std::string>(name), ModelValueOf(value));
    }
    std::vector<ModelValue> outputs;
    {
      Released released;
      outputs = ValueOf(session_->RunValues(values, RunOptionsOf(stream, cancel)));
    }
    nb::list results;
    for (const ModelValue& output : outputs) results.append(ToPython(output));
    return results;
  }
  void RunInto(const NamedTensors& inputs, const NamedTensors& outputs, uint64_t stream,
               const CancelFlag* cancel) const {
    Released released;
    Check(session_->Run(ViewsOf(inputs), ViewsOf(outputs), RunOptionsOf(stream, cancel)));
  }
  void WarmUp(const NamedTensors& inputs, int runs_at_once) const {
    Released released;
    Check(session_->WarmUp(ViewsOf(inputs), runs_at_once));
  }
  PyBinding Bind(nb::object inputs, nb::object outputs) const {
    const auto in = nb::cast<NamedTensors>(inputs), out = nb::cast<NamedTensors>(outputs);
    auto bound = [&] {
      Released released;
      return ValueOf(session_->Bind(ViewsOf(in), ViewsOf(out)));
    };
    return {bound(), std::move(inputs), std::move(outputs)};
  }
  std::vector<ValueInfo> OutputsFor(const NamedTensors& inputs) const {
    Released released;
    return ValueOf(session_->OutputsFor(ViewsOf(inputs)));
  }
  // One dict per step.
  nb::list Profile(const NamedTensors& inputs, int runs) const {
    RunProfile profile;
    {
      Released released;
      profile = ValueOf(session_->Profile(ViewsOf(inputs), {.runs = runs}));
    }
    nb::list steps;
    for (const ProfiledStep& step : profile.steps) steps.append(DictOf(step));
    return steps;
  }
  // One dict per partition.
  nb::list CheckPartitions(const NamedTensors& inputs) const {
    std::vector<CheckedPartition> checked;
    {
      Released released;
      checked = ValueOf(session_->CheckPartitions(ViewsOf(inputs)));
    }
    nb::list partitions;
    for (const CheckedPartition& partition : checked) partitions.append(DictOf(partition));
    return partitions;
  }
  SessionStats Stats() const {
    Released released;
    return session_->stats();
  }
  const Session& session() const { return *session_; }

 private:
  std::unique_ptr<Session> session_;
};

void BindPartsOfStats(nb::module_& module) {
  nb::class_<DeviceStats>(module, "DeviceStats", "One of the devices of a session.")
      .def_prop_ro("device_id", [](const DeviceStats& stats) { return stats.device.ordinal; })
      .def_ro("runs", &DeviceStats::runs)
      .def_ro("running", &DeviceStats::running)
      .def_ro("is_lost", &DeviceStats::is_lost);
  nb::class_<ProgramBuild>(module, "ProgramBuild", "How long it took to build one program.")
      .def_ro("inputs", &ProgramBuild::inputs)
      .def_ro("is_quick", &ProgramBuild::is_quick)
      .def_ro("bind_ms", &ProgramBuild::bind_ms)
      .def_ro("fold_ms", &ProgramBuild::fold_ms)
      .def_ro("partition_ms", &ProgramBuild::partition_ms)
      .def_ro("compile_ms", &ProgramBuild::compile_ms)
      .def_ro("plan_ms", &ProgramBuild::plan_ms)
      .def_ro("total_ms", &ProgramBuild::total_ms);
}

void BindInfo(nb::module_& module) {
  nb::class_<ValueInfo>(module, "ValueInfo", "Name and type of an input or output.")
      .def_ro("name", &ValueInfo::name)
      .def_prop_ro("dtype", [](const ValueInfo& info) { return static_cast<int>(info.dtype); })
      .def_ro("ranked", &ValueInfo::ranked)
      .def_prop_ro(
          "kind", [](const ValueInfo& info) { return static_cast<int>(info.kind); },
          "0 tensor, 1 sequence, 2 optional, 3 map")
      .def_ro("elements", &ValueInfo::elements)
      .def_prop_ro("shape",
                   [](const ValueInfo& info) {
                     nb::list dims;
                     for (const ValueInfo::Extent& extent : info.dims) {
                       if (extent.value >= 0)
                         dims.append(extent.value);
                       else if (extent.symbol.empty())
                         dims.append(nb::none());
                       else
                         dims.append(extent.symbol);
                     }
                     return dims;
                   })
      .def("__str__", [](const ValueInfo& info) { return ToString(info); });
  BindPartsOfStats(module);
  nb::class_<SessionStats>(module, "SessionStats", "Statistics of a session.")
      .def_ro("devices", &SessionStats::devices)
      .def_ro("device_ms", &SessionStats::device_ms)
      .def_ro("load_ms", &SessionStats::load_ms)
      .def_ro("optimize_ms", &SessionStats::optimize_ms)
      .def_ro("plan_ms", &SessionStats::plan_ms)
      .def_ro("tune_ms", &SessionStats::tune_ms)
      .def_ro("tuned_signatures", &SessionStats::tuned_signatures)
      .def_ro("cached_signatures", &SessionStats::cached_signatures)
      .def_ro("tune_notes", &SessionStats::tune_notes)
      .def_ro("programs_built", &SessionStats::programs_built)
      .def_ro("programs_held", &SessionStats::programs_held)
      .def_ro("programs_swapped", &SessionStats::programs_swapped)
      .def_ro("weight_bytes", &SessionStats::weight_bytes)
      .def_ro("arena_bytes", &SessionStats::arena_bytes)
      .def_ro("nodes", &SessionStats::nodes)
      .def_ro("host_nodes", &SessionStats::host_nodes)
      .def_ro("segments", &SessionStats::segments)
      .def_ro("nodes_between", &SessionStats::nodes_between)
      .def_ro("size_reads", &SessionStats::size_reads)
      .def_ro("size_reads_ms", &SessionStats::size_reads_ms)
      .def_ro("padded_runs", &SessionStats::padded_runs)
      .def_ro("bucket_note", &SessionStats::bucket_note)
      .def_ro("graph_captures", &SessionStats::graph_captures)
      .def_ro("between_ms", &SessionStats::between_ms)
      .def_ro("segmented_ms", &SessionStats::segmented_ms)
      .def_ro("builds", &SessionStats::builds);
  nb::class_<DeviceFacts>(module, "DeviceFacts", "The device and the versions of its software.")
      .def_ro("product", &DeviceFacts::product)
      .def_ro("driver", &DeviceFacts::driver)
      .def_ro("cuda", &DeviceFacts::cuda)
      .def_ro("cudnn", &DeviceFacts::cudnn)
      .def_ro("cublaslt", &DeviceFacts::cublaslt);
}

}  // namespace

std::vector<NamedView> ViewsOf(const NamedTensors& tensors) {
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : tensors) views.emplace_back(name, tensor->view());
  return views;
}

const Session& SessionOf(const nb::object& session) {
  return nb::cast<const PySession&>(session).session();
}

void BindSession(nb::module_& module) {
  BindInfo(module);
  nb::class_<CancelFlag>(module, "CancelFlag", "Cancels the Runs that it is given to.")
      .def(nb::init<>())
      .def_prop_rw("cancelled", &CancelFlag::IsSet, &CancelFlag::Set);
  nb::class_<PyBinding>(module, "Binding", "One set of input shapes over fixed addresses.")
      .def("run", &PyBinding::Run, nb::arg("stream") = 0, nb::arg("cancel").none() = nb::none(),
           "Reads the bound inputs and writes the bound outputs.")
      .def("time_runs", &PyBinding::TimeRuns, nb::arg("runs"), "Milliseconds of each Run.")
      .def_prop_ro("graph_note", &PyBinding::graph_note);
  const auto session = [](const PySession& s) -> const Session& { return s.session(); };
  nb::class_<PySession>(module, "Session", "A loaded model; any number of threads may run it.")
      .def_static("load", &PySession::Load, nb::arg("path"), nb::arg("options"))
      .def_static("load_bytes", &PySession::LoadBytes, nb::arg("bytes"), nb::arg("options"))
      .def("run", &PySession::Run, nb::arg("inputs"), nb::arg("stream") = 0,
           nb::arg("cancel").none() = nb::none(), "All outputs, in new host memory.")
      .def("run_values", &PySession::RunValues, nb::arg("inputs"), nb::arg("stream") = 0,
           nb::arg("cancel").none() = nb::none(),
           "The same for values of any kind: tensors, lists, None, tuples of keys and a list.")
      .def("run_into", &PySession::RunInto, nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("stream") = 0, nb::arg("cancel").none() = nb::none())
      .def("warm_up", &PySession::WarmUp, nb::arg("inputs"), nb::arg("runs_at_once"))
      .def("bind", &PySession::Bind, nb::arg("inputs"), nb::arg("outputs"))
      .def("outputs_for", &PySession::OutputsFor, nb::arg("inputs"))
      .def("profile", &PySession::Profile, nb::arg("inputs"), nb::arg("runs"))
      .def("check_partitions", &PySession::CheckPartitions, nb::arg("inputs"))
      .def("stats", &PySession::Stats)
      .def_prop_ro("inputs", [session](const PySession& s) { return session(s).inputs(); })
      .def_prop_ro("outputs", [session](const PySession& s) { return session(s).outputs(); })
      .def_prop_ro("device", [session](const PySession& s) { return session(s).device(); })
      .def_prop_ro("device_id",
                   [session](const PySession& s) { return session(s).device_ref().ordinal; })
      .def_prop_ro("device_note",
                   [session](const PySession& s) { return session(s).device_note(); })
      .def_prop_ro("device_facts",
                   [session](const PySession& s) { return session(s).device_facts(); })
      .def_prop_ro("precision", [session](const PySession& s) { return session(s).precision(); });
}

}  // namespace onnx_cudnn::python
