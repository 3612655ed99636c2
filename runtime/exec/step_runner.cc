#include "runtime/exec/step_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/exec/seeded_numbers.h"

namespace onnx_cudnn {
namespace {

constexpr int kReplays = 5;
constexpr int64_t kAlignment = 256;    // as Device::Allocate's
constexpr uint8_t kPoisonByte = 0xff;  // NaN in every float type

enum Lane : uint8_t { kPaddingLane = 0, kElementLane = 1, kForeignLane = 0xff };

// What each lane of a tensor is.
std::vector<uint8_t> LanesOf(absl::Span<const int64_t> dims, const Format& format) {
  const std::vector<uint8_t> ones(ElementsOf(dims), kElementLane);
  std::vector<uint8_t> lanes(format.lanes(), kForeignLane);
  Pack(DType::kU8, dims, ones.data(), format, lanes.data());
  return lanes;
}

// Types of less than a byte have no Format but row-major.
bool HasLanes(DType dtype) { return BitsOf(dtype) >= 8; }

bool AllBytes(const std::byte* data, int64_t bytes, uint8_t value) {
  return std::all_of(data, data + bytes, [&](std::byte b) { return b == std::byte{value}; });
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepRunner>> StepRunner::Create(const Candidate& candidate,
                                                               std::shared_ptr<const Step> step,
                                                               Device& device,
                                                               ConstantStore& constants) {
  std::unique_ptr<StepRunner> runner(new StepRunner(std::move(step), device));
  ASSIGN_OR_RETURN(runner->streams_, device.CreateStreams(1));
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor input, runner->MakeTensor(*boundary.inputs[i], candidate.inputs[i]));
    runner->inputs_.push_back(std::move(input));
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor output, runner->MakeTensor(*boundary.outputs[i], candidate.outputs[i]));
    runner->outputs_.push_back(std::move(output));
  }
  runner->ResolveAliases();
  RETURN_IF_ERROR(runner->TakeConstants(candidate, constants));
  const Space space = runner->on_host_ ? Space::kHost : Space::kDevice;
  ASSIGN_OR_RETURN(runner->workspace_, device.Allocate(runner->step_->workspace_bytes(), space));
  ASSIGN_OR_RETURN(runner->fault_, device.Allocate(sizeof(uint64_t), Space::kHost));
  return runner;
}

absl::StatusOr<StepRunner::Tensor> StepRunner::MakeTensor(const Value& value,
                                                          const Placement& placement) const {
  Tensor tensor{.dtype = value.dtype(), .dims = value.dims(), .placement = placement};
  ASSIGN_OR_RETURN(tensor.memory, device_.Allocate(tensor.bytes(), placement.space));
  tensor.address = tensor.memory.get();
  return tensor;
}

void StepRunner::ResolveAliases() {
  for (const Alias& alias : step_->aliases()) {
    if (!alias.required) continue;
    Tensor& in = inputs_[alias.input];
    Tensor& out = outputs_[alias.output];
    if (alias.kind == Alias::Kind::kOutputInInput) {
      out.address = in.address + alias.offset;
    } else {
      in.address = out.address + alias.offset;
    }
  }
}

absl::Status StepRunner::TakeConstants(const Candidate& candidate, ConstantStore& constants) {
  const auto on_host = [](const Tensor& t) { return t.placement.space == Space::kHost; };
  on_host_ = !outputs_.empty() && std::all_of(inputs_.begin(), inputs_.end(), on_host) &&
             std::all_of(outputs_.begin(), outputs_.end(), on_host);
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (const Derived& derived : step_->constants()) {
    ConstantUse use{.derived = &derived};
    for (const int from : derived.from) {
      use.sources.push_back(boundary.constants[from]->constant());
    }
    const Space space = on_host_ ? Space::kHost : Space::kDevice;
    ASSIGN_OR_RETURN(auto form, constants.Get(use, space));
    constants_.push_back(std::move(form));
    constant_bytes_.push_back(constants.BytesOf(use, space));
  }
  std::vector<const void*>& set = constant_sets_.emplace_back();
  for (const auto& constant : constants_) set.push_back(constant.get());
  return absl::OkStatus();
}

// So many sets that together they exceed the L2 cache, if `most_copies` are enough for that.
absl::Status StepRunner::CopyConstants(int most_copies) {
  const auto aligned = [](int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  int64_t set_bytes = 0;
  for (const int64_t bytes : constant_bytes_) set_bytes += aligned(bytes);
  const int64_t l2_bytes = device_.info().l2_bytes;
  if (set_bytes == 0 || set_bytes >= l2_bytes || on_host_) return absl::OkStatus();
  const auto copies = std::min<int64_t>(l2_bytes / set_bytes + 1, most_copies) - 1;
  if (copies < static_cast<int64_t>(constant_sets_.size())) return absl::OkStatus();
  constant_sets_.resize(1);
  ASSIGN_OR_RETURN(copies_, device_.Allocate(copies * set_bytes, Space::kDevice));
  std::byte* to = copies_.get();
  for (int64_t copy = 0; copy < copies; ++copy) {
    std::vector<const void*>& set = constant_sets_.emplace_back();
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constant_bytes_[i] > 0) {
        RETURN_IF_ERROR(streams_->Copy(0, to, constants_[i].get(), constant_bytes_[i]));
      }
      set.push_back(to);
      to += aligned(constant_bytes_[i]);
    }
  }
  return streams_->Synchronize();
}

absl::Status StepRunner::TakePinned() {
  for (std::vector<Tensor>* tensors : {&inputs_, &outputs_}) {
    for (Tensor& t : *tensors) {
      if (t.pinned != nullptr) continue;
      ASSIGN_OR_RETURN(t.pinned, device_.Allocate(t.bytes(), Space::kHost));
    }
  }
  return absl::OkStatus();
}

absl::Status StepRunner::FillInputs() {
  constexpr int64_t kMostBlockBytes = 1 << 20;
  std::vector<std::shared_ptr<std::byte>> blocks;  // until they are copied
  for (const Tensor& t : inputs_) {
    const int64_t block_bytes = std::min(kMostBlockBytes, t.bytes());
    if (block_bytes == 0) continue;
    const int64_t elements = 8 * block_bytes / BitsOf(t.dtype);
    const HostTensor numbers =
        SeededNumbers(t.dtype, {elements}, blocks.size(), IndexValues::kZero);
    ASSIGN_OR_RETURN(blocks.emplace_back(), device_.Allocate(block_bytes, Space::kHost));
    std::memcpy(blocks.back().get(), numbers.raw(), numbers.bytes());
    for (int64_t offset = 0; offset < t.bytes(); offset += block_bytes) {
      const int64_t bytes = std::min(block_bytes, t.bytes() - offset);
      RETURN_IF_ERROR(streams_->Copy(0, t.address + offset, blocks.back().get(), bytes));
    }
  }
  return streams_->Synchronize();
}

absl::Status StepRunner::Poison(std::byte* to, std::byte* pinned, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  std::memset(pinned, kPoisonByte, bytes);
  return streams_->Copy(0, to, pinned, bytes);
}

absl::Status StepRunner::WriteInput(const Tensor& tensor, const HostTensor& from, Padding padding) {
  if (tensor.bytes() == 0) return absl::OkStatus();
  std::byte* const pinned = tensor.pinned.get();
  std::memset(pinned, kPoisonByte, tensor.bytes());
  Pack(tensor.dtype, tensor.dims, from.raw(), tensor.placement.format, pinned);
  if (padding == Padding::kPoison && HasLanes(tensor.dtype)) {
    const std::vector<uint8_t> lanes = LanesOf(tensor.dims, tensor.placement.format);
    const int bytes = BitsOf(tensor.dtype) / 8;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (lanes[lane] == kPaddingLane) std::memset(pinned + lane * bytes, kPoisonByte, bytes);
    }
  }
  return streams_->Copy(0, tensor.address, pinned, tensor.bytes());
}

absl::StatusOr<StepResult> StepRunner::Run(absl::Span<const HostTensor> inputs, Padding padding) {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", inputs_.size(), " inputs, found ", inputs.size()));
  }
  RETURN_IF_ERROR(TakePinned());
  for (const Tensor& t : outputs_) RETURN_IF_ERROR(Poison(t.address, t.pinned.get(), t.bytes()));
  const int64_t workspace_bytes = step_->workspace_bytes();
  ASSIGN_OR_RETURN(const auto poison, device_.Allocate(workspace_bytes, Space::kHost));
  RETURN_IF_ERROR(Poison(workspace_.get(), poison.get(), workspace_bytes));
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(WriteInput(inputs_[i], inputs[i], padding));
  }
  std::memset(fault_.get(), 0, sizeof(uint64_t));
  // Outputs are read through the pinned memory that poisons them.
  absl::Status launched = streams_->Synchronize();
  if (launched.ok()) launched = Launch();
  for (const Tensor& t : outputs_) {
    if (launched.ok() && t.bytes() > 0) {
      launched = streams_->Copy(0, t.pinned.get(), t.address, t.bytes());
    }
  }
  const absl::Status done = streams_->Synchronize();
  RETURN_IF_ERROR(launched);
  RETURN_IF_ERROR(done);
  RETURN_IF_ERROR(Fault());
  StepResult result;
  for (const Tensor& t : outputs_) ReadOutput(t, result);
  return result;
}

absl::Status StepRunner::Launch(size_t constant_set) {
  if (!step_->launches()) return absl::OkStatus();
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& t : inputs_) in.push_back(t.address);
  for (const Tensor& t : outputs_) out.push_back(t.address);
  auto* word = reinterpret_cast<uint64_t*>(fault_.get());
  const LaunchArgs args{.in = in,
                        .out = out,
                        .constants = constant_sets_[constant_set],
                        .workspace = workspace_.get(),
                        .stream = {},
                        .fault = step_->may_fault() ? word : nullptr};
  return on_host_ ? streams_->LaunchOnHost(0, *step_, args, {})
                  : streams_->Launch(0, *step_, args, {});
}

absl::Status StepRunner::Fault() {
  uint64_t word;
  std::memcpy(&word, fault_.get(), sizeof(word));
  return word == 0 ? absl::OkStatus() : step_->Fault(word);
}

void StepRunner::ReadOutput(const Tensor& tensor, StepResult& result) const {
  const std::byte* data = tensor.pinned.get();
  HostTensor output = HostTensor::Allocate(tensor.dtype, tensor.dims);
  Unpack(tensor.dtype, tensor.dims, data, tensor.placement.format, output.mutable_raw());
  const int64_t output_elements = output.elements();
  result.outputs.push_back(std::move(output));
  const bool is_alias = tensor.address != tensor.memory.get();
  const bool all_elements = tensor.placement.format.lanes() == output_elements;
  if (is_alias || all_elements || !HasLanes(tensor.dtype)) return;
  const std::vector<uint8_t> lanes = LanesOf(tensor.dims, tensor.placement.format);
  const int bytes = BitsOf(tensor.dtype) / 8;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const std::byte* element = data + lane * bytes;
    if (lanes[lane] == kPaddingLane && !AllBytes(element, bytes, 0)) {
      result.padding_is_zero = false;
    }
    if (lanes[lane] == kForeignLane && !AllBytes(element, bytes, kPoisonByte)) {
      result.foreign_is_kept = false;
    }
  }
}

absl::StatusOr<double> StepRunner::MeasureUs(int repeats, Constants constants) {
  if (constants == Constants::kCold) RETURN_IF_ERROR(CopyConstants(repeats));
  const size_t sets = constants == Constants::kCold ? constant_sets_.size() : 1;
  const auto launch_all = [&] {
    absl::Status launched = absl::OkStatus();
    for (int i = 0; i < repeats && launched.ok(); ++i) launched = Launch(i % sets);
    return launched;
  };
  RETURN_IF_ERROR(Launch());
  RETURN_IF_ERROR(streams_->Synchronize());
  const absl::Status begun = streams_->BeginCapture();
  if (begun.ok()) {
    const absl::Status launched = launch_all();
    auto graph = streams_->EndCapture();
    RETURN_IF_ERROR(launched);
    RETURN_IF_ERROR(graph.status());
    ASSIGN_OR_RETURN(std::vector<double> ms, streams_->TimeReplays(**graph, kReplays));
    return 1e3 * Median(std::move(ms)) / repeats;
  }
  if (begun.code() != absl::StatusCode::kUnimplemented) return begun;
  std::vector<double> us;
  for (int i = 0; i < kReplays; ++i) {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(launch_all());
    RETURN_IF_ERROR(streams_->Synchronize());
    us.push_back(absl::ToDoubleMicroseconds(absl::Now() - start));
  }
  return Median(std::move(us)) / repeats;
}

}  // namespace onnx_cudnn
