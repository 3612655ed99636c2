#include "tests/gpu/speed_fixture.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {

std::vector<std::string>& SpeedTest::records() {
  static auto& records = *new std::vector<std::string>;
  return records;
}

void SpeedTest::SetUp() {
  if (Variable("ONNX_CUDNN_SPEED").empty()) GTEST_SKIP() << "needs ONNX_CUDNN_SPEED=FILE";
  GpuTest::SetUp();
}

void SpeedTest::TearDownTestSuite() {
  const std::string path = Variable("ONNX_CUDNN_SPEED");
  if (path.empty()) return;
  const std::string json = absl::StrCat("[\n ", absl::StrJoin(records(), ",\n "), "\n]\n");
  EXPECT_TRUE(WriteFile(path, json).ok());
}

// Scaled from whole megabytes: an odd remainder makes the copy half as slow again.
absl::StatusOr<double> SpeedTest::CopyUs(int64_t wanted) {
  const int64_t bytes = wanted >> 21 << 21;
  ASSIGN_OR_RETURN(const auto from, device().Allocate(bytes / 2, Space::kDevice));
  ASSIGN_OR_RETURN(const auto to, device().Allocate(bytes / 2, Space::kDevice));
  ASSIGN_OR_RETURN(const auto streams, device().CreateStreams(1));
  RETURN_IF_ERROR(streams->BeginCapture());
  const absl::Status copied = streams->Copy(0, to.get(), from.get(), bytes / 2);
  ASSIGN_OR_RETURN(const auto graph, streams->EndCapture());
  RETURN_IF_ERROR(copied);
  ASSIGN_OR_RETURN(std::vector<double> ms, streams->TimeReplays(*graph, 9));
  std::sort(ms.begin(), ms.end());
  return 1e3 * ms[ms.size() / 2] * static_cast<double>(wanted) / static_cast<double>(bytes);
}

absl::StatusOr<double> SpeedTest::MeasureVariant(const Candidate& candidate, const Variant& variant,
                                                 int launches, StepRunner::Constants constants) {
  ASSIGN_OR_RETURN(const Compiled compiled,
                   candidate.engine->Compile(candidate, variant, target()));
  if (compiled.step() == nullptr) return absl::UnimplementedError(compiled.reason());
  ASSIGN_OR_RETURN(const auto runner,
                   StepRunner::Create(candidate, compiled.step(), device(), this->constants()));
  RETURN_IF_ERROR(runner->FillInputs());
  return runner->MeasureUs(launches, constants);
}

void SpeedTest::Measure(const SpeedCase& test, const std::string& dtype) {
  const std::string text = absl::StrReplaceAll(test.text, {{"T[", absl::StrCat(dtype, "[")}});
  const Graph graph = test.has_weights ? GraphWithWeights(text) : GraphFromText(text);
  for (const Candidate& candidate : OfAllNodes(graph, test.anchor, target())) {
    const absl::StatusOr<std::vector<Variant>> variants =
        candidate.engine->Variants(candidate, target());
    ASSERT_TRUE(variants.ok()) << variants.status();
    Speed best{.bytes = BytesOf(candidate)};
    for (const Variant& variant : *variants) {
      const absl::StatusOr<double> us = MeasureVariant(candidate, variant);
      if (absl::IsUnimplemented(us.status())) continue;
      ASSERT_TRUE(us.ok()) << test.name << ": " << us.status();
      if (*us < best.us) best = {.variant = variant.text, .bytes = best.bytes, .us = *us};
    }
    const absl::StatusOr<double> copy_us = CopyUs(best.bytes);
    ASSERT_TRUE(copy_us.ok()) << copy_us.status();
    best.share_of_copy = *copy_us / best.us;
    Record(test.name, dtype, candidate, best);
    const bool is_last = Describe(candidate).ends_with("> last");
    EXPECT_GE(best.share_of_copy, is_last ? test.least_share_channels_last : test.least_share)
        << records().back();
  }
}

void SpeedTest::MeasureAll(const std::vector<SpeedCase>& tests) {
  for (const SpeedCase& test : tests) {
    const size_t before = records().size();
    for (const std::string& dtype : test.dtypes) Measure(test, dtype);
    EXPECT_GT(records().size(), before) << test.name << ": no kernel takes all of its Nodes";
  }
}

void SpeedTest::Record(const std::string& name, const std::string& dtype,
                       const Candidate& candidate, const Speed& speed) {
  records().push_back(absl::StrFormat(
      R"({"case": "%s", "dtype": "%s", "format": "%s", "variant": "%s", "bytes": %d, "us": %.2f, )"
      R"("share_of_copy": %.3f})",
      name, dtype, Describe(candidate), speed.variant, speed.bytes, speed.us, speed.share_of_copy));
}

int64_t SpeedTest::BytesOf(const Candidate& candidate) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  int64_t in = 0, out = 0;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    in += candidate.inputs[i].format.bytes(boundary.inputs[i]->dtype());
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    out += candidate.outputs[i].format.bytes(boundary.outputs[i]->dtype());
  }
  return candidate.nodes[0]->op() == "Slice" ? 2 * out : in + out;
}

}  // namespace onnx_cudnn
