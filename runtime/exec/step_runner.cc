#include "runtime/exec/step_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/seeded_numbers.h"

namespace onnx_cudnn {
namespace {

constexpr int kReplays = 5;
constexpr int64_t kAlignment = 256;    // that of Device::Allocate
constexpr uint8_t kPoisonByte = 0xff;  // NaN in every float type
constexpr int64_t kLanesGrain = 65536;

enum Lane : uint8_t { kPaddingLane = 0, kElementLane = 1, kForeignLane = 0xff };

// The kind of each lane of a tensor.
std::vector<uint8_t> LanesOf(absl::Span<const int64_t> dims, const Format& format) {
  const std::vector<uint8_t> ones(ElementsOf(dims), kElementLane);
  std::vector<uint8_t> lanes(format.lanes(), kForeignLane);
  Pack(DType::kU8, dims, ones.data(), format, lanes.data());
  return lanes;
}

// Types of less than a byte have row-major Formats only.
bool HasLanes(DType dtype) { return BitsOf(dtype) >= 8; }

// Whether every lane is an element.
bool IsFull(absl::Span<const int64_t> dims, const Format& format) {
  return format.lanes() == ElementsOf(dims);
}

bool AllBytes(const std::byte* data, int64_t bytes, uint8_t value) {
  return std::all_of(data, data + bytes, [&](std::byte b) { return b == std::byte{value}; });
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepRunner>> StepRunner::Create(
    const Candidate& candidate, std::shared_ptr<const Step> step, Device& device,
    ConstantStore& constants, absl::Span<const std::shared_ptr<std::byte>> inputs) {
  std::unique_ptr<StepRunner> runner(new StepRunner(std::move(step), device));
  ASSIGN_OR_RETURN(runner->streams_, device.CreateStreams(1));
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor input, runner->MakeTensor(*boundary.inputs[i], candidate.inputs[i],
                                                      inputs.empty() ? nullptr : inputs[i]));
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

// Freed memory may be reused at once, so all work must have ended.
StepRunner::~StepRunner() { Synchronize().IgnoreError(); }

absl::StatusOr<StepRunner::Tensor> StepRunner::MakeTensor(const Value& value,
                                                          const Placement& placement,
                                                          std::shared_ptr<std::byte> memory) const {
  Tensor tensor{.dtype = value.dtype(),
                .dims = value.dims(),
                .placement = placement,
                .memory = std::move(memory)};
  if (tensor.memory == nullptr) {
    ASSIGN_OR_RETURN(tensor.memory, device_.Allocate(tensor.bytes(), placement.space));
  }
  tensor.address = tensor.memory.get();
  return tensor;
}

std::vector<std::shared_ptr<std::byte>> StepRunner::inputs() const {
  std::vector<std::shared_ptr<std::byte>> memories;
  for (const Tensor& t : inputs_) memories.push_back(t.memory);
  return memories;
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

// Makes enough sets to exceed the L2 cache together, if `most_copies` are sufficient.
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

// Pinned memory that is kept until the next Synchronize.
absl::StatusOr<std::byte*> StepRunner::Stage(int64_t bytes) {
  ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, device_.Allocate(bytes, Space::kHost));
  staged_.push_back(std::move(memory));
  return staged_.back().get();
}

absl::Status StepRunner::Synchronize() {
  const absl::Status done = streams_ == nullptr ? absl::OkStatus() : streams_->Synchronize();
  staged_.clear();
  return done;
}

// Fills memory with repetitions of `block`: copies it from the host once, then doubles the filled
// part.
absl::Status StepRunner::Repeat(std::byte* to, int64_t bytes, const std::byte* block,
                                int64_t block_bytes) {
  int64_t done = std::min(bytes, block_bytes);
  if (done == 0) return absl::OkStatus();
  RETURN_IF_ERROR(streams_->Copy(0, to, block, done));
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    RETURN_IF_ERROR(streams_->Copy(0, to + done, to, more));
    done += more;
  }
  return absl::OkStatus();
}

absl::Status StepRunner::FillInputs() {
  constexpr int64_t kMostBlockBytes = 1 << 20;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs_[i];
    const int64_t block_bytes = std::min(kMostBlockBytes, t.bytes());
    if (block_bytes == 0) continue;
    const int64_t elements = 8 * block_bytes / BitsOf(t.dtype);
    ASSIGN_OR_RETURN(std::byte* const block, Stage(block_bytes));
    WriteSeededNumbers(t.dtype, elements, i, IndexValues::kZero, block);
    RETURN_IF_ERROR(Repeat(t.address, t.bytes(), block, block_bytes));
  }
  return Synchronize();
}

absl::Status StepRunner::PoisonWhatIsWritten() {
  constexpr int64_t kBlockBytes = 1 << 16;
  ASSIGN_OR_RETURN(std::byte* const block, Stage(kBlockBytes));
  std::memset(block, kPoisonByte, kBlockBytes);
  for (const Tensor& t : outputs_) {
    RETURN_IF_ERROR(Repeat(t.address, t.bytes(), block, kBlockBytes));
  }
  return Repeat(workspace_.get(), step_->workspace_bytes(), block, kBlockBytes);
}

absl::Status StepRunner::WriteInput(const Tensor& tensor, const HostTensor& from, Padding padding) {
  if (tensor.bytes() == 0) return absl::OkStatus();
  const Format& format = tensor.placement.format;
  ASSIGN_OR_RETURN(std::byte* const lanes, Stage(tensor.bytes()));
  if (format.has_foreign_lanes()) std::memset(lanes, kPoisonByte, tensor.bytes());
  Pack(tensor.dtype, tensor.dims, from.raw(), format, lanes);
  if (padding == Padding::kPoison && HasLanes(tensor.dtype) && !IsFull(tensor.dims, format)) {
    const std::vector<uint8_t> what = LanesOf(tensor.dims, format);
    const int bytes = BitsOf(tensor.dtype) / 8;
    for (size_t lane = 0; lane < what.size(); ++lane) {
      if (what[lane] == kPaddingLane) std::memset(lanes + lane * bytes, kPoisonByte, bytes);
    }
  }
  return streams_->Copy(0, tensor.address, lanes, tensor.bytes());
}

absl::StatusOr<StepResult> StepRunner::Run(absl::Span<const HostTensor> inputs, Padding padding) {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", inputs_.size(), " inputs, found ", inputs.size()));
  }
  // Done first, because an input may share memory with an output.
  RETURN_IF_ERROR(PoisonWhatIsWritten());
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(WriteInput(inputs_[i], inputs[i], padding));
  }
  RETURN_IF_ERROR(LaunchAndWait());
  StepResult result;
  for (const Tensor& t : outputs_) RETURN_IF_ERROR(ReadOutput(t, result));
  return result;
}

absl::Status StepRunner::RunInPlace() {
  RETURN_IF_ERROR(PoisonWhatIsWritten());
  return LaunchAndWait();
}

bool StepRunner::RunsInPlace(const Step& step) {
  return std::none_of(step.aliases().begin(), step.aliases().end(),
                      [](const Alias& alias) { return alias.required; });
}

absl::Status StepRunner::LaunchAndWait() {
  std::memset(fault_.get(), 0, sizeof(uint64_t));
  const absl::Status launched = Launch();
  const absl::Status done = Synchronize();
  RETURN_IF_ERROR(launched);
  RETURN_IF_ERROR(done);
  return Fault();
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
                        .fault = step_->may_fault() ? word : nullptr,
                        .next_uses_pdl = step_->uses_pdl()};
  return on_host_ ? streams_->LaunchOnHost(0, *step_, args, {})
                  : streams_->Launch(0, *step_, args, {});
}

absl::Status StepRunner::Fault() {
  uint64_t word;
  std::memcpy(&word, fault_.get(), sizeof(word));
  return word == 0 ? absl::OkStatus() : step_->Fault(word);
}

absl::Status StepRunner::ReadOutput(const Tensor& tensor, StepResult& result) {
  if (tensor.bytes() == 0) {
    result.outputs.push_back(HostTensor::Allocate(tensor.dtype, tensor.dims));
    return absl::OkStatus();
  }
  const Format& format = tensor.placement.format;
  ASSIGN_OR_RETURN(std::shared_ptr<std::byte> lanes,
                   device_.Allocate(tensor.bytes(), Space::kHost));
  staged_.push_back(lanes);
  RETURN_IF_ERROR(streams_->Copy(0, lanes.get(), tensor.address, tensor.bytes()));
  RETURN_IF_ERROR(Synchronize());
  std::shared_ptr<std::byte> elements = lanes;
  if (format != Format::RowMajor(tensor.dims)) {
    ASSIGN_OR_RETURN(
        elements, device_.Allocate(BytesOf(tensor.dtype, ElementsOf(tensor.dims)), Space::kHost));
    Unpack(tensor.dtype, tensor.dims, lanes.get(), format, elements.get());
  }
  result.outputs.push_back(HostTensor::Borrow(tensor.dtype, tensor.dims, elements.get(), elements));
  const bool is_alias = tensor.address != tensor.memory.get();
  if (is_alias || !HasLanes(tensor.dtype) || IsFull(tensor.dims, format)) return absl::OkStatus();
  const std::vector<uint8_t> what = LanesOf(tensor.dims, format);
  const int bytes = BitsOf(tensor.dtype) / 8;
  std::atomic<bool> padding_is_zero = true, foreign_is_kept = true;
  ThreadPool::Default().ParallelFor(format.lanes(), kLanesGrain, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      const std::byte* element = lanes.get() + lane * bytes;
      if (what[lane] == kPaddingLane && !AllBytes(element, bytes, 0)) padding_is_zero = false;
      if (what[lane] == kForeignLane && !AllBytes(element, bytes, kPoisonByte)) {
        foreign_is_kept = false;
      }
    }
  });
  result.padding_is_zero &= padding_is_zero;
  result.foreign_is_kept &= foreign_is_kept;
  return absl::OkStatus();
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
