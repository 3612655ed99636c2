#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "tests/fuzz/corpora.h"
#include "tests/support/graph_text.h"
#include "tests/support/model_builder.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

// What models/tiny lacks: bodies of every kind, old forms that import upgrades, other types.
constexpr const char* kTexts[] = {
    R"(<ir_version: 10, opset_import: ["" : 21]>
       g (float[4] x, int64 trips, bool go) => (float[4] last, float[n,4] all) {
         last, all = Loop (trips, go, x) <body = b (int64 i, bool c, float[4] a) => (bool d, float[4] e, float[4] f)
           { d = Identity(c)  e = Add(a, x)  f = Relu(e) }> })",
    R"(<ir_version: 10, opset_import: ["" : 21]>
       g (float[4] start, float[n,4] xs) => (float[4] last, float[n,4] all) {
         last, all = Scan <num_scan_inputs = 1, body = b (float[4] a, float[4] x) => (float[4] c, float[4] d)
           { c = Add(a, x)  d = Neg(c) }> (start, xs) })",
    R"(<ir_version: 3, opset_import: ["" : 7]>
       g (float[1,2,4,4] x, float[2] s) => (float[a,b,c,d] y) {
         n = BatchNormalization(x, s, s, s, s)
         u = Upsample <scales = [1.0, 1.0, 2.0, 2.0], mode = "nearest"> (n)
         p = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (u)
         y = Clip <min = 0.0, max = 6.0> (p) })",
    R"(<ir_version: 5, opset_import: ["" : 10]>
       g (float[1,2,4,4] x) => (float[a,b] y, float[c,d,e,f] z) <float[4] scales = {1, 1, 2, 2}> {
         z = Resize <mode = "linear"> (x, scales)
         m = ReduceSum <axes = [2, 3], keepdims = 0> (z)
         q = Unsqueeze <axes = [0]> (m)
         r = Squeeze <axes = [0]> (q)
         y = Softmax <axis = 1> (r) })",
    R"(<ir_version: 10, opset_import: ["" : 21]>
       g (float[2,6] x) => (float[a,b] y, int64[c,d] i) <int64[1] k = {3}, int64[2] parts = {2, 4}, int64[1] zero = {0}> {
         v, i = TopK(x, k)
         a, b = Split <axis = 1> (x, parts)
         s = Slice(b, zero, k, zero)
         e = Einsum <equation = "ij,kj->ik"> (a, a)
         y = Concat <axis = 0> (e, a) })",
    R"(<ir_version: 10, opset_import: ["" : 21]>
       g (seq(float[N]) s, optional(float[2]) o, string[3] t) => (float[M] y, string[3] u)
       <int64 at = {0}, uint8[3] packed = {1, 2, 7}, double[2] half = {0.5, 1.5}> {
         y = SequenceAt(s, at)
         u = Identity(t)
         w = Cast <to = 1> (packed)
         h = Cast <to = 1> (half) })",
};

constexpr uintmax_t kMostVectorBytes = 4096;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The contents of `paths`, sorted by path.
std::vector<std::string> ReadSorted(std::vector<std::filesystem::path> paths) {
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const std::filesystem::path& path : paths) contents.push_back(ReadFile(path));
  return contents;
}

// A model with its weight in another file.
std::string ExternalModel() {
  onnx::ModelProto model = ReluModel();
  SetExternal(AddInitializer(*model.mutable_graph(), "w", onnx::TensorProto::FLOAT, {4}),
              {{"location", "data"}, {"offset", "0"}, {"length", "16"}});
  return model.SerializeAsString();
}

std::string SparseModel() {
  onnx::ModelProto model = ReluModel();
  onnx::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  sparse.mutable_values()->set_name("w");
  sparse.add_dims(4);
  return model.SerializeAsString();
}

}  // namespace

std::vector<std::string> ModelCorpus() {
  std::vector<std::string> models = {ExternalModel(), SparseModel()};
  const auto add = [&](const std::string& text) { models.push_back(*ModelBytesFromText(text)); };
  for (const char* text : kTexts) add(text);
  for (const auto& file : std::filesystem::directory_iterator(SourceFile("models/tiny"))) {
    add(ReadFile(file.path()));
  }
  return models;
}

std::vector<std::string> VectorCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().filename() == "model.onnx" && file.file_size() <= kMostVectorBytes) {
        paths.push_back(file.path());
      }
    }
  }
  return ReadSorted(std::move(paths));
}

std::string RegressionsFolder() { return SourceFile("tests/fuzz/regressions"); }

std::vector<std::string> Regressions(const std::string& name) {
  const std::string folder = absl::StrCat(RegressionsFolder(), "/", name);
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      paths.push_back(file.path());
    }
  }
  return ReadSorted(std::move(paths));
}

}  // namespace onnx_cudnn
