#include "tests/onnx_backend/run_vector.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/import/tensor_file.h"
#include "runtime/ops/small_types.h"
#include "runtime/session/arguments.h"
#include "runtime/session/segments/values.h"
#include "tests/onnx_backend/random_rules.h"
#include "tools/common/elements.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {
namespace {

// Without the model's path and what the Engines before `host` say, which differ by Target:
//   node (X): no engine runs it: view: …; host: X (opset 28) on f32: …  ⇒  X (opset 28) on f32: …
std::string Reason(const TestVector& vector, std::string_view message) {
  const std::string file = vector.model.substr(vector.model.rfind('/') + 1) + ": ";
  if (absl::StartsWith(message, file)) message.remove_prefix(file.size());
  constexpr std::string_view kHost = " host: ";
  const size_t host = message.find(kHost);
  if (host == std::string_view::npos) return std::string(message);
  message.remove_prefix(host + kHost.size());
  return std::string(message.substr(0, message.find("; ")));
}

Outcome Refused(const TestVector& vector, const Error& error) {
  const bool unimplemented = error.code == ErrorCode::kUnimplemented;
  return {.kind = unimplemented ? Outcome::Kind::kUnimplemented : Outcome::Kind::kFail,
          .message = Reason(vector, error.message),
          .refused = error.code};
}

Outcome Failed(std::string message) { return {Outcome::Kind::kFail, std::move(message)}; }

// A tensor of small elements as f32, so that NaNs with different bits and zeros of either sign
// compare equal.
HostTensor AsFloats(const HostTensor& tensor) {
  HostTensor floats = HostTensor::Allocate(DType::kF32, tensor.dims());
  LoadSmall(tensor.dtype(), tensor.raw(), 0, tensor.elements(),
            floats.mutable_data<float>().data());
  return floats;
}

std::string CompareFloats(const HostTensor& found, const HostTensor& expected,
                          const VectorTolerance& tolerance) {
  const absl::StatusOr<Difference> difference =
      Compare(found, expected, tolerance.relative, tolerance.of_largest);
  if (!difference.ok()) return std::string(difference.status().message());
  if (difference->ok() || difference->largest <= tolerance.absolute) return difference->type;
  return absl::StrCat("differs by ", difference->largest, " where the largest expected is ",
                      difference->largest_expected, ": ", difference->beyond, " elements");
}

// Whether integers of one type and shape differ by at most the tolerance.
bool WithinUnits(const HostTensor& found, const HostTensor& expected, double units) {
  const bool small = kSmallIntegerTypes.Has(expected.dtype());
  if (units == 0 || found.dtype() != expected.dtype() || found.dims() != expected.dims() ||
      !(small || kIntegerTypes.Has(expected.dtype())))
    return false;
  const absl::StatusOr<Difference> difference =
      small ? Compare(AsFloats(found), AsFloats(expected), 0, 0) : Compare(found, expected, 0, 0);
  return difference.ok() && difference->largest <= units;
}

// The error in `found`; empty: none.
std::string CompareOutput(const HostTensor& found, const HostTensor& expected,
                          const VectorTolerance& tolerance) {
  if (kSmallFloatTypes.Has(expected.dtype()) && found.dtype() == expected.dtype())
    return CompareFloats(AsFloats(found), AsFloats(expected), tolerance);
  if (kFloatTypes.Has(expected.dtype())) return CompareFloats(found, expected, tolerance);
  if (SameContent(found, expected) || WithinUnits(found, expected, tolerance.units)) return "";
  return absl::StrCat("expected other values of ", NameOf(expected.dtype()),
                      ToString(absl::MakeConstSpan(expected.dims())), ", found ",
                      NameOf(found.dtype()), ToString(absl::MakeConstSpan(found.dims())));
}

Outcome CompareOutputs(const Session& session, const std::vector<Tensor>& found,
                       const NamedTensors& expected, const VectorTolerance& tolerance) {
  if (expected.empty()) return {Outcome::Kind::kPass, ""};
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    auto tensor = expected.find(name);
    if (tensor == expected.end()) return Failed(absl::StrCat("no file for output ", name));
    const std::string wrong = CompareOutput(HostTensorOf(found[i]), tensor->second, tolerance);
    if (!wrong.empty()) return Failed(absl::StrCat("output ", name, " ", wrong));
  }
  return {Outcome::Kind::kPass, ""};
}

std::vector<NamedView> InputsOf(const Expected& data) {
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : data.inputs) views.emplace_back(name, ViewOf(tensor));
  return views;
}

// The outputs by name; an error if one has another dtype or other dims than expected.
absl::StatusOr<NamedTensors> ByName(const Session& session, const std::vector<Tensor>& found,
                                    const NamedTensors& expected) {
  NamedTensors tensors;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    const HostTensor tensor = HostTensorOf(found[i]);
    const auto like = expected.find(name);
    if (like == expected.end() || like->second.dtype() != tensor.dtype() ||
        like->second.dims() != tensor.dims()) {
      return absl::InvalidArgumentError(absl::StrCat("output ", name, " is ",
                                                     NameOf(tensor.dtype()),
                                                     ToString(absl::MakeConstSpan(tensor.dims()))));
    }
    tensors[name] = tensor;
  }
  return tensors;
}

Outcome RunRandom(const TestVector& vector, const Session& session, const Expected& data,
                  RandomRule rule) {
  Tally tally;
  for (int run = 0; run < kRandomRuns; ++run) {
    Result<std::vector<Tensor>> outputs = session.Run(InputsOf(data));
    if (!outputs.ok()) return Refused(vector, outputs.error());
    const auto found = ByName(session, outputs.value(), data.outputs);
    if (!found.ok()) return Failed(std::string(found.status().message()));
    if (const std::string wrong = rule(data.inputs, *found, tally); !wrong.empty())
      return Failed(wrong);
  }
  const std::string wrong = tally.Wrong();
  return wrong.empty() ? Outcome{Outcome::Kind::kPass, ""} : Failed(wrong);
}

Outcome RunDataSet(const TestVector& vector, const Session& session, const Expected& data) {
  if (const RandomRule rule = FindRandomRule(vector.name); rule != nullptr)
    return RunRandom(vector, session, data, rule);
  Result<std::vector<Tensor>> outputs = session.Run(InputsOf(data));
  if (!outputs.ok()) return Refused(vector, outputs.error());
  return CompareOutputs(session, outputs.value(), data.outputs, vector.tolerance);
}

ModelValue ModelValueOf(const HostValue& value) {
  std::vector<ModelValue> elements;
  for (const HostValue& element : value.elements) elements.push_back(ModelValueOf(element));
  switch (value.kind) {
    case Type::Kind::kSequence:
      return ModelValue::Sequence(std::move(elements));
    case Type::Kind::kOptional:
      return elements.empty() ? ModelValue::Optional() : ModelValue::Optional(elements[0]);
    case Type::Kind::kMap:
      return ModelValue::Map(TensorMaker::Of(value.tensor), std::move(elements));
    default:
      return TensorMaker::Of(value.tensor);
  }
}

// The error in `found`; empty: none.
std::string CompareValue(const ModelValue& found, const HostValue& expected,
                         const VectorTolerance& tolerance) {
  if (TypeKindOf(found.kind()) != expected.kind ||
      found.elements().size() != expected.elements.size()) {
    return absl::StrCat("is of another kind, or has ", found.elements().size(),
                        " elements, expected ", expected.elements.size());
  }
  if (expected.tensor.defined()) {
    const std::string wrong =
        CompareOutput(HostTensorOf(found.tensor()), expected.tensor, tolerance);
    if (!wrong.empty()) return wrong;
  }
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    const std::string wrong = CompareValue(found.elements()[i], expected.elements[i], tolerance);
    if (!wrong.empty()) return absl::StrCat("element ", i, " ", wrong);
  }
  return "";
}

// A data set of values of any kind, by position.
Outcome RunValueSet(const TestVector& vector, const Session& session, const std::string& folder) {
  std::vector<NamedValue> inputs;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    absl::StatusOr<HostValue> value = LoadValueFile(absl::StrCat(folder, "/input_", i, ".pb"),
                                                    TypeKindOf(session.inputs()[i].kind));
    if (!value.ok()) return Failed(std::string(value.status().message()));
    inputs.emplace_back(ModelValueOf(*value));
  }
  Result<std::vector<ModelValue>> outputs = session.RunValues(inputs);
  if (!outputs.ok()) return Refused(vector, outputs.error());
  for (size_t i = 0; i < outputs.value().size(); ++i) {
    const absl::StatusOr<HostValue> expected = LoadValueFile(
        absl::StrCat(folder, "/output_", i, ".pb"), TypeKindOf(session.outputs()[i].kind));
    if (!expected.ok()) return Failed(std::string(expected.status().message()));
    const std::string wrong = CompareValue(outputs.value()[i], *expected, vector.tolerance);
    if (!wrong.empty()) return Failed(absl::StrCat("output ", i, " ", wrong));
  }
  return {Outcome::Kind::kPass, ""};
}

bool HoldsOtherKinds(const Session& session) {
  const auto is_other = [](const ValueInfo& info) { return info.kind != ValueKind::kTensor; };
  return std::any_of(session.inputs().begin(), session.inputs().end(), is_other) ||
         std::any_of(session.outputs().begin(), session.outputs().end(), is_other);
}

Outcome RunDataSets(const TestVector& vector, const Session& session) {
  if (HoldsOtherKinds(session)) {
    for (const std::string& folder : vector.data_sets) {
      Outcome outcome = RunValueSet(vector, session, folder);
      if (outcome.kind != Outcome::Kind::kPass) return outcome;
    }
    return {Outcome::Kind::kPass, ""};
  }
  absl::StatusOr<std::vector<Expected>> sets = ReadDataSets(vector, session);
  if (!sets.ok()) return Failed(std::string(sets.status().message()));
  for (const Expected& data : *sets) {
    Outcome outcome = RunDataSet(vector, session, data);
    if (outcome.kind != Outcome::Kind::kPass) return outcome;
  }
  return {Outcome::Kind::kPass, ""};
}

}  // namespace

Outcome RunVector(const TestVector& vector, const SessionOptions& options) {
  Result<Session> session = Session::Load(vector.model, options);
  if (!session.ok()) return Refused(vector, session.error());
  Outcome outcome = RunDataSets(vector, session.value());
  if (outcome.kind != Outcome::Kind::kPass) return outcome;
  const SessionStats stats = session.value().stats();
  return {Outcome::Kind::kPass, "", stats.nodes, stats.host_nodes};
}

}  // namespace onnx_cudnn
