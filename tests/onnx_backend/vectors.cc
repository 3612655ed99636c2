#include "tests/onnx_backend/vectors.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/tensor_file.h"

namespace onnx_cudnn {
namespace {

namespace fs = std::filesystem;

// i / n for element i of n, unknown dims 1: the inputs that ONNX's runner uses for its light
// models.
HostTensor MakeInput(const ValueInfo& info) {
  Dims dims;
  for (const ValueInfo::Extent& extent : info.dims)
    dims.push_back(std::max<int64_t>(extent.value, 1));
  HostTensor tensor = HostTensor::Allocate(DType::kF32, std::move(dims));
  const absl::Span<float> elements = tensor.mutable_data<float>();
  const auto n = static_cast<double>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<float>(static_cast<double>(i) / n);
  }
  return tensor;
}

absl::StatusOr<Expected> MakeDataSet(const TestVector& vector, const Session& session) {
  Expected set;
  for (const ValueInfo& info : session.inputs()) set.inputs[info.name] = MakeInput(info);
  const std::string output = fs::path(vector.model).replace_extension().string() + "_output_0.pb";
  ASSIGN_OR_RETURN(set.outputs[session.outputs()[0].name], LoadTensorFile(output));
  return set;
}

// A data set without outputs: the expected result is unknown, or a refusal.
absl::StatusOr<Expected> ReadInputs(const std::string& folder, const Session& session) {
  Expected set;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    ASSIGN_OR_RETURN(set.inputs[session.inputs()[i].name],
                     LoadTensorFile(absl::StrCat(folder, "/input_", i, ".pb")));
  }
  return set;
}

// Wheels before 1.19 store tensors of bf16 as u16 with the same bits.
void TakeBitsAsBf16(const std::vector<ValueInfo>& infos, NamedTensors& tensors) {
  for (const ValueInfo& info : infos) {
    const auto tensor = tensors.find(info.name);
    if (info.dtype != DType::kBF16 || tensor == tensors.end()) continue;
    HostTensor& stored = tensor->second;
    if (stored.dtype() != DType::kU16) continue;
    stored = HostTensor::Borrow(DType::kBF16, stored.dims(), stored.raw(),
                                std::make_shared<HostTensor>(stored));
  }
}

fs::path DataFolder() {
  const char* other = std::getenv("ONNX_CUDNN_VECTORS");
  return other == nullptr ? ONNX_CUDNN_VECTORS : other;
}

TestVector VectorAt(const std::string& group, const fs::path& path) {
  TestVector vector{.name = absl::StrCat(group, "/", path.stem().string()),
                    .model = path.string(),
                    .data_sets = {}};
  if (!fs::is_directory(path)) return vector;
  vector.model = path / "model.onnx";
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_directory()) vector.data_sets.push_back(entry.path());
  }
  std::sort(vector.data_sets.begin(), vector.data_sets.end());
  return vector;
}

}  // namespace

void PrintTo(const TestVector& vector, std::ostream* out) { *out << vector.name; }

std::vector<TestVector> FindVectors(const std::string& group) {
  std::vector<TestVector> vectors;
  const fs::path folder = DataFolder() / group;
  if (!fs::exists(folder)) return vectors;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() || entry.path().extension() == ".onnx")
      vectors.push_back(VectorAt(group, entry.path()));
  }
  std::sort(vectors.begin(), vectors.end(),
            [](const TestVector& a, const TestVector& b) { return a.name < b.name; });
  return vectors;
}

absl::StatusOr<std::vector<Expected>> ReadDataSets(const TestVector& vector,
                                                   const Session& session) {
  std::vector<Expected> sets;
  if (vector.data_sets.empty()) {
    ASSIGN_OR_RETURN(sets.emplace_back(), MakeDataSet(vector, session));
  }
  for (const std::string& folder : vector.data_sets) {
    ASSIGN_OR_RETURN(sets.emplace_back(),
                     fs::exists(fs::path(folder) / "output_0.pb")
                         ? ReadExpected(folder, session.inputs(), session.outputs())
                         : ReadInputs(folder, session));
  }
  for (Expected& set : sets) {
    TakeBitsAsBf16(session.inputs(), set.inputs);
    TakeBitsAsBf16(session.outputs(), set.outputs);
  }
  return sets;
}

}  // namespace onnx_cudnn
