#include "runtime/loaded_model.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/build_program.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/arguments.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {
namespace {

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

absl::Status CheckOptions(const SessionOptions& options) {
  struct Rule {
    const char* name;
    int value, least, most;
  };
  const Rule rules[] = {{"optimization_level", options.optimization_level, 0, 2},
                        {"streams", options.streams, 1, 64},
                        {"max_programs", options.max_programs, 1, 1 << 20},
                        {"max_executors_per_program", options.max_executors_per_program, 1, 1024}};
  for (const Rule& rule : rules) {
    if (rule.value >= rule.least && rule.value <= rule.most) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "option %s: expected %d to %d, found %d", rule.name, rule.least, rule.most, rule.value));
  }
  return absl::OkStatus();
}

absl::Status CheckRunnable(std::string_view what, std::string_view name, const Type& type) {
  if (type.is_tensor() && BitsOf(type.dtype) > 0) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrFormat(
      "%s \"%s\": expected a tensor of numbers, found %s", what, name, ToString(type)));
}

}  // namespace

std::vector<ValueInfo> OutputsOf(const Program& program) {
  std::vector<ValueInfo> infos;
  for (const GraphOutput& output : program.graph.outputs()) {
    infos.push_back(DescribeValue(output.name, output.value->type()));
  }
  return infos;
}

LoadedModel::LoadedModel(Graph graph, const SessionOptions& options)
    : graph_(std::move(graph)), options_(options), programs_(options.max_programs) {}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadedModel::Create(
    Graph graph, const SessionOptions& options, double load_ms) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto model = std::shared_ptr<LoadedModel>(new LoadedModel(std::move(graph), options));
  RETURN_IF_ERROR(model->OpenDevice());
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(model->Optimize());
  RETURN_IF_ERROR(model->Describe());
  absl::MutexLock lock(model->stats_mutex_);
  model->stats_.load_ms = load_ms;
  model->stats_.optimize_ms = MsSince(start);
  return model;
}

absl::Status LoadedModel::OpenDevice() {
  if (options_.device == DeviceChoice::kCuda) {
    return absl::FailedPreconditionError("this build has no CUDA device");
  }
  if (options_.device == DeviceChoice::kAuto) {
    device_note_ = "this build has no CUDA device: running on the CPU device";
  }
  ASSIGN_OR_RETURN(target_, MakeTarget(options_.target));
  device_ = MakeCpuDevice();
  constants_ = std::make_unique<ConstantStore>(*device_);
  return absl::OkStatus();
}

absl::Status LoadedModel::Optimize() {
  PassContext context{.target = &target_.target};
  PassManagerOptions manager;
  manager.disabled.insert(options_.disabled_passes.begin(), options_.disabled_passes.end());
  return RunPasses(graph_, MakePipeline(options_.optimization_level), manager, context).status();
}

absl::Status LoadedModel::Describe() {
  for (const Value* input : graph_.inputs()) {
    RETURN_IF_ERROR(CheckRunnable("input", input->name(), input->type()));
    inputs_.push_back(DescribeValue(input->name(), input->type()));
  }
  for (const GraphOutput& output : graph_.outputs()) {
    const Type& type = output.value->type();
    if (type.kind != Type::Kind::kUnknown) {  // an unknown one shows when a Program is built
      RETURN_IF_ERROR(CheckRunnable("output", output.name, type));
    }
    outputs_.push_back(DescribeValue(output.name, type));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Prepare(
    const std::vector<const TensorView*>& inputs) const {
  ProgramTable::Key key;
  for (const TensorView* input : inputs) key.push_back(input->shape);
  return programs_.Get(key, [&] { return Build(key); });
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Build(
    const ProgramTable::Key& key) const {
  const absl::Time start = absl::Now();
  std::map<std::string, Dims, std::less<>> dims;
  for (size_t i = 0; i < key.size(); ++i) dims[inputs_[i].name] = key[i];
  ASSIGN_OR_RETURN(
      std::shared_ptr<const Program> program,
      BuildProgram(
          graph_, dims, target_.target,
          {.partitioner = options_.partitioner == PartitionerChoice::kCost ? CostSearch : Greedy,
           .streams = options_.streams}));
  for (const GraphOutput& output : program->graph.outputs()) {
    RETURN_IF_ERROR(CheckRunnable("output", output.name, output.value->type()));
  }
  {
    absl::MutexLock lock(stats_mutex_);
    stats_.plan_ms += MsSince(start);
    stats_.arena_bytes = program->memory.arena_bytes + program->host_memory.arena_bytes;
  }
  return std::make_shared<ExecutorPool>(std::move(program), *device_, *constants_,
                                        options_.max_executors_per_program);
}

SessionStats LoadedModel::stats() const {
  absl::MutexLock lock(stats_mutex_);
  SessionStats stats = stats_;
  stats.programs_built = programs_.built();
  stats.programs_held = programs_.held();
  stats.weight_bytes = constants_->bytes();
  return stats;
}

}  // namespace onnx_cudnn
