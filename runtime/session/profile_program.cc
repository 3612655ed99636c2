#include "runtime/session/profile_program.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "passes/explain/edges.h"
#include "runtime/base/status.h"
#include "runtime/session/run_model.h"

namespace onnx_cudnn {
namespace {

double MedianUs(const std::vector<ProfiledRun>& runs,
                absl::FunctionRef<const ProfiledSpan&(const ProfiledRun&)> span) {
  std::vector<double> us;
  for (size_t i = kProfileWarmUps; i < runs.size(); ++i) us.push_back(span(runs[i]).us);
  return MedianOf(std::move(us));
}

ProfiledSpan SpanOf(const RunTimeline::Span& span) { return {span.begin_us, span.us}; }

ProfiledStep Describe(const Program& program, int index, const Target& target) {
  const Partition& partition = program.partitions[index];
  const Cost floor = Roofline(partition.chosen, target);
  ProfiledStep step{.index = index,
                    .engine = std::string(partition.chosen.engine->name()),
                    .variant = partition.variant.text,
                    .floor_us = floor.us,
                    .flops = floor.flops,
                    .bytes = floor.bytes};
  for (const Node* node : partition.chosen.nodes) {
    step.nodes.push_back(NameOf(*node));
    step.ops.push_back(node->op());
  }
  return step;
}

ProfiledRun Reported(const RunTimeline& timeline, const std::vector<int>& launched) {
  ProfiledRun run{.begin_us = timeline.begin_us,
                  .is_replay = timeline.is_replay,
                  .copies_in = SpanOf(timeline.copies_in),
                  .copies_out = SpanOf(timeline.copies_out)};
  for (const int index : launched) run.steps.push_back(SpanOf(timeline.steps[index]));
  return run;
}

}  // namespace

absl::Status CheckRuns(const ProfileOptions& options) {
  if (options.runs >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Profile: expected 1 run or more, found ", options.runs));
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<int> LaunchedSteps(const Program& program) {
  std::vector<int> launched;
  for (size_t i = 0; i < program.partitions.size(); ++i) {
    if (program.partitions[i].step->launches()) launched.push_back(static_cast<int>(i));
  }
  return launched;
}

std::vector<ProfiledStep> DescribeSteps(const Program& program, const std::vector<int>& launched,
                                        const Target& target) {
  std::vector<int> streams(program.partitions.size());
  for (const ScheduledStep& scheduled : program.schedule.steps) {
    streams[scheduled.step] = scheduled.stream;
  }
  std::vector<ProfiledStep> steps;
  for (const int index : launched) {
    steps.push_back(Describe(program, index, target));
    steps.back().stream = streams[index];
  }
  return steps;
}

void AddMedians(RunProfile& profile) {
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const auto span = [i](const ProfiledRun& run) -> const ProfiledSpan& { return run.steps[i]; };
    profile.steps[i].us = MedianUs(profile.runs, span);
    profile.steps_us += profile.steps[i].us;
  }
  for (ProfiledStep& step : profile.steps) {
    step.share = profile.steps_us > 0 ? step.us / profile.steps_us : 0;
  }
  const auto in = [](const ProfiledRun& run) -> const ProfiledSpan& { return run.copies_in; };
  const auto out = [](const ProfiledRun& run) -> const ProfiledSpan& { return run.copies_out; };
  profile.copy_in_us = MedianUs(profile.runs, in);
  profile.copy_out_us = MedianUs(profile.runs, out);
}

absl::StatusOr<RunProfile> ProfileProgram(const ExecutorPool& pool,
                                          const std::vector<const TensorView*>& inputs,
                                          const Target& target, const ProfileOptions& options) {
  RETURN_IF_ERROR(CheckRuns(options));
  const Program& program = pool.program();
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, AllocateOutputs(program));
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorView* input : inputs) in.push_back(input->data);
  for (const Tensor& output : outputs) out.push_back(output.raw());
  RunProfile profile{.streams = program.schedule.streams};
  {
    ASSIGN_OR_RETURN(const auto executor, pool.MakeExecutor());
    ASSIGN_OR_RETURN(std::vector<double> ms, executor->Time(in, out, options.runs));
    profile.run_us = 1e3 * MedianOf(std::move(ms));
  }
  const std::vector<int> launched = LaunchedSteps(program);
  profile.steps = DescribeSteps(program, launched, target);
  ASSIGN_OR_RETURN(const auto executor, pool.MakeTimingExecutor());
  const size_t runs = kProfileWarmUps + static_cast<size_t>(options.runs);
  while (profile.runs.size() < runs) {
    RETURN_IF_ERROR(executor->Run(in, out));
    ASSIGN_OR_RETURN(const RunTimeline timeline, executor->LastRun());
    profile.runs.push_back(Reported(timeline, launched));
    profile.bytes_in = timeline.bytes_in;
    profile.bytes_out = timeline.bytes_out;
  }
  profile.is_captured = executor->is_captured();
  profile.graph_note = executor->capture_note();
  AddMedians(profile);
  return profile;
}

}  // namespace onnx_cudnn
