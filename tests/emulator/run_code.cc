#include "tests/emulator/run_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/plan/reference_step.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/tensor_map.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn::emulator {
namespace {

constexpr Schedule kSchedules[] = {{Order::kForward, Arrival::kLate},
                                   {Order::kBackward, Arrival::kLate},
                                   {Order::kForward, Arrival::kSeeded, /*seed=*/1}};

std::byte* AddressOf(const Slot& slot, const CodeOperands& operands) {
  switch (slot.kind) {
    case Slot::Kind::kInput:
      return operands.inputs.at(slot.index) + slot.offset;
    case Slot::Kind::kOutput:
      return operands.outputs.at(slot.index) + slot.offset;
    case Slot::Kind::kConstant:
      return operands.constants.at(slot.index) + slot.offset;
    case Slot::Kind::kWorkspace:
      return operands.workspace + slot.offset;
    case Slot::Kind::kFault:
      return reinterpret_cast<std::byte*>(operands.fault);
  }
  return nullptr;
}

absl::Status CheckShape(const LaunchShape& shape) {
  const int64_t threads = int64_t{shape.block.x} * shape.block.y * shape.block.z;
  const bool fits = threads >= 1 && threads <= 1024 && shape.grid.x <= 0x7fffffffu &&
                    shape.grid.y <= 65'535 && shape.grid.z <= 65'535 && shape.block.z <= 64;
  if (fits) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a grid of ", shape.grid.x, " x ", shape.grid.y, " x ",
                                          shape.grid.z, " blocks of ", threads, " threads"));
}

absl::Status LaunchCall(const KernelCall& call, const CodeOperands& operands,
                        const Schedule& schedule) {
  if (call.shape.grid.x == 0 || call.shape.grid.y == 0 || call.shape.grid.z == 0) {
    return absl::OkStatus();
  }
  if (absl::Status s = CheckShape(call.shape); !s.ok()) return s;
  std::vector<std::byte> parameters = call.parameters;
  for (const KernelCall::Address& address : call.addresses) {
    const std::byte* data = AddressOf(address.slot, operands);
    if (address.at + sizeof(data) > parameters.size()) {
      return absl::InternalError("an address beyond the parameters");
    }
    std::memcpy(parameters.data() + address.at, &data, sizeof(data));
  }
  for (const KernelCall::Map& map : call.maps) {
    const TensorMapBytes bytes = Encode(map.map, AddressOf(map.slot, operands));
    std::memcpy(parameters.data() + map.at, &bytes, sizeof(bytes));
  }
  const std::string error =
      Run(call.function, call.shape, parameters.data(), parameters.size(), schedule);
  return error.empty() ? absl::OkStatus() : absl::InternalError(error);
}

// Fills a Step's memory before a run.
void Poison(const GuardedMemory& memory) { std::memset(memory.data(), 0xff, memory.bytes()); }

struct Operands {
  std::vector<GuardedMemory> inputs, outputs, constants;
  GuardedMemory workspace{0};
  uint64_t fault = 0;

  CodeOperands addresses() {
    const auto of = [](const std::vector<GuardedMemory>& memories) {
      std::vector<std::byte*> data;
      for (const GuardedMemory& memory : memories) data.push_back(memory.data());
      return data;
    };
    return {of(inputs), of(outputs), of(constants), workspace.data(), &fault};
  }
  void Poison() {
    for (const GuardedMemory& memory : outputs) emulator::Poison(memory);
    emulator::Poison(workspace);
    fault = 0;
  }
};

// Lanes without a logical element must be zero if they are padding, and unwritten if they belong to
// another tensor.
std::string CheckOtherLanes(const Value& value, const Format& format, const GuardedMemory& memory) {
  const Dims dims = value.dims();
  GuardedMemory again(memory.bytes());
  Poison(again);
  HostTensor plain = HostTensor::Allocate(value.dtype(), dims);
  Unpack(value.dtype(), dims, memory.data(), format, plain.mutable_raw());
  Pack(value.dtype(), dims, plain.raw(), format, again.data());
  for (int64_t i = 0; i < memory.bytes(); ++i) {
    if (memory.data()[i] == again.data()[i]) continue;
    return absl::StrCat(value.name(), ": byte ", i, " of ", memory.bytes(),
                        " is padding or a foreign lane, and is ", int(memory.data()[i]));
  }
  return "";
}

std::string CompareNumbers(const Value& value, const HostTensor& got, const HostTensor& expected,
                           double tolerance) {
  const std::vector<double> a = NumbersOf(got).values, b = NumbersOf(expected).values;
  double largest = 0;
  for (const double x : b) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= tolerance * std::max(largest, 1e-30);
    if (same) continue;
    return absl::StrCat(value.name(), ": element ", i, " of ", a.size(), " is ", a[i],
                        ", expected ", b[i]);
  }
  return "";
}

std::string CompareOutput(const Value& value, const Format& format, const GuardedMemory& got,
                          const GuardedMemory& expected, double tolerance) {
  const Dims dims = value.dims();
  HostTensor a = HostTensor::Allocate(value.dtype(), dims), b = a;
  b = HostTensor::Allocate(value.dtype(), dims);
  Unpack(value.dtype(), dims, got.data(), format, a.mutable_raw());
  Unpack(value.dtype(), dims, expected.data(), format, b.mutable_raw());
  const bool equal = std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
  if (!equal) {
    std::string difference = CompareNumbers(value, a, b, tolerance);
    if (!difference.empty()) return difference;
  }
  return CheckOtherLanes(value, format, got);
}

std::vector<std::byte> BytesOfAll(const std::vector<GuardedMemory>& memories) {
  std::vector<std::byte> bytes;
  for (const GuardedMemory& m : memories) {
    bytes.insert(bytes.end(), m.data(), m.data() + m.bytes());
  }
  return bytes;
}

}  // namespace

GuardedMemory::GuardedMemory(int64_t bytes) : bytes_(bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t rounded = (static_cast<size_t>(bytes) + 15) / 16 * 16;
  const size_t all = (rounded + page - 1) / page * page + 2 * page;
  auto* begin = static_cast<std::byte*>(
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  pages_ = std::shared_ptr<void>(begin, [all](void* pages) { munmap(pages, all); });
  std::byte* end = begin + all - page;
  mprotect(begin, page, PROT_NONE);
  mprotect(end, page, PROT_NONE);
  data_ = end - rounded;
}

absl::Status RunCode(const KernelCode& code, const CodeOperands& operands,
                     const Schedule& schedule) {
  for (const KernelCall& call : code.calls) {
    if (call.kind == KernelCall::Kind::kLaunch) {
      if (absl::Status s = LaunchCall(call, operands, schedule); !s.ok()) return s;
    } else if (call.kind == KernelCall::Kind::kCopy) {
      std::memmove(AddressOf(call.addresses[0].slot, operands),
                   AddressOf(call.addresses[1].slot, operands), call.bytes);
    } else {
      std::memset(AddressOf(call.addresses[0].slot, operands), call.value, call.bytes);
    }
  }
  return absl::OkStatus();
}

namespace {

// The constants in the forms that the code requires.
absl::Status MakeConstants(const KernelCode& code, const Boundary& boundary, Operands& operands) {
  for (const Derived& derived : code.constants) {
    std::vector<HostTensor> from;
    for (const int position : derived.from) {
      from.push_back(boundary.constants.at(position)->constant());
    }
    ASSIGN_OR_RETURN(const HostTensor made, derived.make(from));
    operands.constants.emplace_back(made.bytes());
    std::memcpy(operands.constants.back().data(), made.raw(), made.bytes());
  }
  return absl::OkStatus();
}

std::vector<GuardedMemory> OutputMemory(const Boundary& boundary, const Candidate& candidate) {
  std::vector<GuardedMemory> outputs;
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    const int64_t bytes = candidate.outputs[i].format.bytes(boundary.outputs[i]->dtype());
    outputs.emplace_back(bytes);
  }
  return outputs;
}

absl::Status RunReference(const Candidate& candidate, const Boundary& boundary,
                          Operands& operands) {
  ASSIGN_OR_RETURN(const Compiled compiled, CompileReference(candidate));
  if (compiled.step() == nullptr) return absl::UnimplementedError(compiled.reason());
  operands.workspace = GuardedMemory(compiled.step()->workspace_bytes());
  operands.Poison();
  const CodeOperands at = operands.addresses();
  const std::vector<const void*> in(at.inputs.begin(), at.inputs.end());
  const std::vector<void*> out(at.outputs.begin(), at.outputs.end());
  std::vector<const void*> constants;
  for (const Value* v : boundary.constants) constants.push_back(v->constant().raw());
  return compiled.step()->Launch(
      {.in = in, .out = out, .constants = constants, .workspace = at.workspace, .stream = {}});
}

std::string CompareErrors(const absl::Status& got, const absl::Status& expected) {
  if (expected.ok()) return absl::StrCat("an error where there is none: ", got.message());
  const bool same = absl::StrContains(expected.message(), got.message());
  return same ? "" : absl::StrCat("says ", got.message(), ", expected ", expected.message());
}

}  // namespace

std::string CompareWithReference(const absl::StatusOr<KernelCode>& code, const Candidate& candidate,
                                 const std::vector<HostTensor>& inputs, double tolerance) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  Operands mine, theirs;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    const Format& format = candidate.inputs[i].format;
    const DType dtype = inputs[i].dtype();
    for (Operands* operands : {&mine, &theirs}) {
      operands->inputs.emplace_back(format.bytes(dtype));
      Pack(dtype, inputs[i].dims(), inputs[i].raw(), format, operands->inputs.back().data());
    }
  }
  mine.outputs = OutputMemory(boundary, candidate);
  theirs.outputs = OutputMemory(boundary, candidate);
  const absl::Status expected = RunReference(candidate, boundary, theirs);
  if (!code.ok()) return CompareErrors(code.status(), expected);
  if (absl::Status s = MakeConstants(*code, boundary, mine); !s.ok()) return s.ToString();
  mine.workspace = GuardedMemory(code->workspace_bytes);
  std::vector<std::vector<std::byte>> results;
  for (const Schedule& schedule : kSchedules) {
    mine.Poison();
    if (absl::Status s = RunCode(*code, mine.addresses(), schedule); !s.ok()) return s.ToString();
    results.push_back(BytesOfAll(mine.outputs));
  }
  if (mine.fault != 0) {
    if (code->fault == nullptr) return "a fault that no text is for";
    return CompareErrors(code->fault(mine.fault), expected);
  }
  if (!expected.ok()) return absl::StrCat("no fault, expected ", expected.message());
  for (size_t i = 1; i < results.size(); ++i) {
    if (results[i] != results[0]) return absl::StrCat("run ", i, " differs from run 0");
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    std::string difference = CompareOutput(*boundary.outputs[i], candidate.outputs[i].format,
                                           mine.outputs[i], theirs.outputs[i], tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace onnx_cudnn::emulator
