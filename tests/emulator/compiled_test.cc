// Compiled models on a GPU that is not there: made on it, with the forms of weights that its Steps
// want, and loaded.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/compile_model.h"
#include "tests/emulator/emulated_gpu.h"
#include "tests/support/edited_parts.h"
#include "tests/support/networks.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

FakeCudaOptions EmulatedH200() {
  FakeCudaOptions options = EmulatedGpu();
  options.product = "NVIDIA H200";
  return options;
}

Graph SmallResNet18() { return ResNet18({.image = 96, .channel_share = 8}); }

std::vector<float> RunOnce(const Session& session) {
  std::vector<float> image(3 * 96 * 96);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 37 % 64) / 32 - 1;
  auto outputs = session.Run({View(image.data(), {1, 3, 96, 96})});
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  const Tensor& y = outputs.value()[0];
  return {y.data<float>(), y.data<float>() + y.elements()};
}

Session Load(const std::string& path) {
  auto session = Session::Load(path, {.device = DeviceChoice::kCuda});
  EXPECT_TRUE(session.ok()) << session.error().message;
  return std::move(session).value();
}

std::string NotesOf(const Session& session) {
  return absl::StrJoin(session.stats().tune_notes, "\n");
}

CompileReport CompileIn(const TempFolder& folder, std::string target) {
  CompileRequest request{.target = std::move(target),
                         .options = {.precision = PrecisionChoice::kFp16}};
  const auto report = CompileModel(SmallResNet18(), request, folder.path("m.ocp"));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(CompileReport());
}

TEST(EmulatedCompiledTest, LoadsTheFormsOfWeightsAndRunsLikeTheModel) {
  FakeCuda cuda(EmulatedH200());
  const TempFolder folder;
  const CompileReport report = CompileIn(folder, "h200");
  EXPECT_EQ(report.without_forms, "");
  EXPECT_GT(report.forms, 3);
  const absl::StatusOr<Session> model = SessionMaker::Make(
      SmallResNet18(), {.device = DeviceChoice::kCuda, .precision = PrecisionChoice::kFp16});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<float> expected = RunOnce(*model);
  {
    const Session session = Load(folder.path("m.ocp"));
    EXPECT_EQ(session.precision(), PrecisionChoice::kFp16);
    EXPECT_EQ(NotesOf(session), "");
    EXPECT_EQ(RunOnce(session), expected);
  }
  // The forms are what runs: others give other results.
  int zeroed = 0;
  EditParts(folder.path("m.ocp"), folder.path("e.ocp"),
            [&](std::string_view name, std::string& bytes) {
              if (!absl::StartsWith(name, "form ")) return true;
              bytes.assign(bytes.size(), '\0');
              ++zeroed;
              return true;
            });
  EXPECT_EQ(zeroed, report.forms);
  EXPECT_NE(RunOnce(Load(folder.path("e.ocp"))), expected);
  // Without them they are made.
  EditParts(folder.path("m.ocp"), folder.path("e.ocp"),
            [](std::string_view name, std::string&) { return !absl::StartsWith(name, "form "); });
  EXPECT_EQ(RunOnce(Load(folder.path("e.ocp"))), expected);
}

TEST(EmulatedCompiledTest, ADamagedFormIsAnErrorOfTheFirstRun) {
  FakeCuda cuda(EmulatedH200());
  const TempFolder folder;
  CompileIn(folder, "h200");
  std::string bytes = ReadFile(folder.path("m.ocp"), 64 << 20).value();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // of the last part, a form
  folder.Write("e.ocp", bytes);
  const Session session = Load(folder.path("e.ocp"));
  const std::vector<float> image(3 * 96 * 96);
  const auto outputs = session.Run({View(image.data(), {1, 3, 96, 96})});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(outputs.error().message, "the checksum of part \"form "))
      << outputs.error().message;
}

TEST(EmulatedCompiledTest, ForAnotherGpuIsPlannedAgain) {
  FakeCuda cuda(EmulatedH200());
  const TempFolder folder;
  EXPECT_EQ(CompileIn(folder, "h100").without_forms, "this host's GPU is h200");
  const Session session = Load(folder.path("m.ocp"));
  EXPECT_EQ(NotesOf(session), "compiled for h100, here is h200: planned again from its model");
  EXPECT_FALSE(RunOnce(session).empty());
}

}  // namespace
}  // namespace onnx_cudnn
