#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/c_program.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string WriteModel(const std::string& bytes) {
  const std::string path = testing::TempDir() + "/c_api_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(CApiSessionTest, ReportsItsVersions) {
  EXPECT_EQ(onnx_cudnn_api_version(), ONNX_CUDNN_C_API_VERSION);
  int major = -1, minor = -1, patch = -1;
  EXPECT_EQ(std::sscanf(onnx_cudnn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
}

TEST(CApiSessionTest, RunsInC) {
  const std::string model = ReluModel();
  const float x[] = {1, 10};
  float y[] = {0, 0};
  EXPECT_EQ(RunInC(model.data(), model.size(), x, y), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  EXPECT_THAT(y, ElementsAre(4, 6));
}

TEST(CApiSessionTest, LoadsAFile) {
  const std::string path = WriteModel(ReluModel());
  onnx_cudnn_session* session = nullptr;
  ASSERT_EQ(onnx_cudnn_session_load(path.c_str(), nullptr, &session), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  onnx_cudnn_session_destroy(session);
}

TEST(CApiSessionTest, LoadingFailsWithItsReason) {
  onnx_cudnn_session* session = reinterpret_cast<onnx_cudnn_session*>(1);
  ExpectStatus(onnx_cudnn_session_load("/nowhere/model.onnx", nullptr, &session),
               ONNX_CUDNN_NOT_FOUND, "/nowhere/model.onnx");
  EXPECT_EQ(session, nullptr);
  ExpectStatus(onnx_cudnn_session_load_bytes("no model", 8, nullptr, &session),
               ONNX_CUDNN_INVALID_ARGUMENT, "");
  ExpectStatus(onnx_cudnn_session_load(nullptr, nullptr, &session), ONNX_CUDNN_INVALID_ARGUMENT,
               "path");
  ExpectStatus(onnx_cudnn_session_load("model.onnx", nullptr, nullptr), ONNX_CUDNN_INVALID_ARGUMENT,
               "session");
  ExpectStatus(onnx_cudnn_session_load_bytes(nullptr, 8, nullptr, &session),
               ONNX_CUDNN_INVALID_ARGUMENT, "bytes");
}

TEST(CApiSessionTest, OptionsReachTheSession) {
  const std::string model = ReluModel();
  onnx_cudnn_session* session = nullptr;
  const auto expect_refused = [&](const onnx_cudnn_session_options& options, const char* text) {
    ExpectStatus(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
                 ONNX_CUDNN_INVALID_ARGUMENT, text);
  };
  const auto refused = [&](auto member, auto value, const char* text) {
    onnx_cudnn_session_options options = CpuOptions();
    options.*member = value;
    expect_refused(options, text);
  };
  using Options = onnx_cudnn_session_options;
  for (const int32_t wrong : {-1, 99, 256}) {
    refused(&Options::device, wrong, "option device");
    refused(&Options::precision, wrong, "option precision");
    refused(&Options::partitioner, wrong, "option partitioner");
    refused(&Options::tune, wrong, "option tune");
  }
  refused(&Options::device_ordinal, -1, "device_ordinal");
  refused(&Options::threads, -1, "threads");
  refused(&Options::optimization_level, 3, "optimization_level");
  refused(&Options::compute_capability, 80, "compute capability");
  refused(&Options::target, "toaster", "toaster");
  refused(&Options::pins, "nonsense", "pins:1");
  refused(&Options::tune_budget_s, -1.0, "tune_budget_s");
  refused(&Options::streams, 65, "streams");
  refused(&Options::max_programs, 0, "max_programs");
  refused(&Options::max_executors_per_program, 0, "max_executors_per_program");
  refused(&Options::max_memory_bytes, -1, "max_memory_bytes");

  const auto refused_list = [&](auto items, auto count_member, auto list, int64_t count,
                                const char* text) {
    onnx_cudnn_session_options options = CpuOptions();
    options.*items = list;
    options.*count_member = count;
    expect_refused(options, text);
  };
  const char* passes[] = {"no_such_pass", nullptr};
  const auto refused_passes = [&](const char* const* list, int64_t count, const char* text) {
    refused_list(&Options::disabled_passes, &Options::disabled_pass_count, list, count, text);
  };
  refused_passes(passes, 1, "no_such_pass");
  refused_passes(passes, 2, "disabled_passes[1]");
  refused_passes(nullptr, 2, "disabled_passes");
  refused_list(&Options::op_libraries, &Options::op_library_count, &passes[1], 1,
               "op_libraries[0]");
  const int32_t devices[] = {1, 1};
  const auto refused_devices = [&](const int32_t* list, int64_t count, const char* text) {
    refused_list(&Options::devices, &Options::device_count, list, count, text);
  };
  refused_devices(devices, 2, "option devices: 1 repeats");
  refused_devices(devices, 1, "option devices: expected none for the CPU device");
  refused_devices(nullptr, 1, "option devices: expected an array, found NULL");
}

TEST(CApiSessionTest, SessionsShareAnArena) {
  onnx_cudnn_arena* arena = nullptr;
  ASSERT_EQ(onnx_cudnn_arena_create(1 << 20, &arena), ONNX_CUDNN_OK);
  onnx_cudnn_session_options options = CpuOptions();
  options.arena = arena;
  const std::string model = ReluModel();
  onnx_cudnn_session* session = nullptr;
  ASSERT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
            ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  const SessionHandle owner(session);
  onnx_cudnn_arena_destroy(arena);
  std::vector<float> x = {1, 1};
  OwnedDLTensor y;
  EXPECT_EQ(RunOne(session, CallerTensor(x, {1, 2}).tensor, y), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();

  ASSERT_EQ(onnx_cudnn_arena_create(0, &arena), ONNX_CUDNN_OK);
  options.arena = arena;
  ExpectStatus(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
               ONNX_CUDNN_INVALID_ARGUMENT, "option arena");
  onnx_cudnn_arena_destroy(arena);
  ExpectStatus(onnx_cudnn_arena_create(1, nullptr), ONNX_CUDNN_INVALID_ARGUMENT, "arena");
}

struct Seen {
  std::map<int32_t, int64_t> reports;  // by stage
  int32_t answer = 0;
};
int32_t Note(void* context, int32_t stage, int64_t done, int64_t total, const char* text) {
  Seen& seen = *static_cast<Seen*>(context);
  if (done <= total && text != nullptr) ++seen.reports[stage];
  return seen.answer;
}

TEST(CApiSessionTest, ReportsProgressThatCanCancel) {
  Seen seen;
  onnx_cudnn_session_options options = CpuOptions();
  options.progress = Note;
  options.progress_context = &seen;
  const std::string model = ReluModel();
  onnx_cudnn_session* session = nullptr;
  ASSERT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
            ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  SessionHandle owner(session);
  EXPECT_GT(seen.reports[ONNX_CUDNN_STAGE_LOADING], 0);
  EXPECT_GT(seen.reports[ONNX_CUDNN_STAGE_OPTIMIZING], 0);
  std::vector<float> x = {1, 1};
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session, CallerTensor(x, {1, 2}).tensor, y), ONNX_CUDNN_OK);
  EXPECT_GT(seen.reports[ONNX_CUDNN_STAGE_BUILDING], 0);

  seen.answer = 1;
  EXPECT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
            ONNX_CUDNN_CANCELLED);
  EXPECT_EQ(session, nullptr);
}

TEST(CApiSessionTest, ATokenCancelsLoadsAndRuns) {
  onnx_cudnn_cancel_token* made = nullptr;
  ASSERT_EQ(onnx_cudnn_cancel_token_create(&made), ONNX_CUDNN_OK);
  const TokenHandle token(made);
  const SessionHandle session = LoadOnCpu(ReluModel());
  onnx_cudnn_run_options run;
  ASSERT_EQ(onnx_cudnn_run_options_init(&run, sizeof(run)), ONNX_CUDNN_OK);
  run.cancel = token.get();
  std::vector<float> x = {1, 1};
  const CallerTensor input(x, {1, 2});
  OwnedDLTensor y;
  EXPECT_EQ(RunOne(session.get(), input.tensor, y, &run), ONNX_CUDNN_OK);

  ASSERT_EQ(onnx_cudnn_cancel_token_cancel(token.get()), ONNX_CUDNN_OK);
  EXPECT_EQ(RunOne(session.get(), input.tensor, y, &run), ONNX_CUDNN_CANCELLED);
  EXPECT_EQ(y, nullptr);
  onnx_cudnn_session_options load = CpuOptions();
  load.cancel = token.get();
  const std::string model = ReluModel();
  onnx_cudnn_session* other = nullptr;
  EXPECT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &load, &other),
            ONNX_CUDNN_CANCELLED);

  ASSERT_EQ(onnx_cudnn_cancel_token_reset(token.get()), ONNX_CUDNN_OK);
  EXPECT_EQ(RunOne(session.get(), input.tensor, y, &run), ONNX_CUDNN_OK);
}

TEST(CApiSessionTest, StreamsAreRefusedOnTheCpu) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  onnx_cudnn_run_options run;
  ASSERT_EQ(onnx_cudnn_run_options_init(&run, sizeof(run)), ONNX_CUDNN_OK);
  run.stream = &run;
  std::vector<float> x = {1, 1};
  OwnedDLTensor y;
  ExpectStatus(RunOne(session.get(), CallerTensor(x, {1, 2}).tensor, y, &run),
               ONNX_CUDNN_INVALID_ARGUMENT, "stream");
}

TEST(CApiSessionTest, DescribesItself) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  onnx_cudnn_session_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(onnx_cudnn_session_get_info(session.get(), &info), ONNX_CUDNN_OK);
  EXPECT_STREQ(info.device, "cpu");
  EXPECT_STREQ(info.device_note, "");
  EXPECT_EQ(info.device_type, kDLCPU);
  EXPECT_EQ(info.device_id, 0);
  EXPECT_EQ(info.precision, ONNX_CUDNN_PRECISION_STRICT);
  EXPECT_STREQ(info.cudnn, "");

  std::vector<float> x = {1, 1};
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session.get(), CallerTensor(x, {1, 2}).tensor, y), ONNX_CUDNN_OK);
  onnx_cudnn_session_stats stats = {};
  stats.struct_size = sizeof(stats);
  ASSERT_EQ(onnx_cudnn_session_get_stats(session.get(), &stats), ONNX_CUDNN_OK);
  EXPECT_EQ(stats.programs_built, 1);
  EXPECT_EQ(stats.programs_held, 1);
  EXPECT_GE(stats.nodes, 1);
  EXPECT_GT(stats.plan_ms, 0);
  EXPECT_EQ(stats.segments, 1);
  EXPECT_EQ(stats.segmented_ms, 0);

  char notes[8] = "unset";
  size_t size = 0;
  EXPECT_EQ(onnx_cudnn_session_get_tune_notes(session.get(), nullptr, 0, &size), ONNX_CUDNN_OK);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(onnx_cudnn_session_get_tune_notes(session.get(), notes, sizeof(notes), &size),
            ONNX_CUDNN_OK);
  EXPECT_STREQ(notes, "");
}

TEST(CApiSessionTest, ListsInputsAndOutputs) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  const onnx_cudnn_value_list* list = nullptr;
  ASSERT_EQ(onnx_cudnn_session_get_inputs(session.get(), &list), ONNX_CUDNN_OK);
  ASSERT_EQ(onnx_cudnn_value_list_size(list), 1u);
  onnx_cudnn_value_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(onnx_cudnn_value_list_get(list, 0, &info), ONNX_CUDNN_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.kind, ONNX_CUDNN_KIND_TENSOR);
  EXPECT_EQ(info.dtype, 1);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.symbols[0], "N");
  EXPECT_EQ(info.dims[1], 2);
  EXPECT_STREQ(info.symbols[1], "");
  ExpectStatus(onnx_cudnn_value_list_get(list, 1, &info), ONNX_CUDNN_INVALID_ARGUMENT,
               "expected less than 1, found 1");

  ASSERT_EQ(onnx_cudnn_session_get_outputs(session.get(), &list), ONNX_CUDNN_OK);
  ASSERT_EQ(onnx_cudnn_value_list_get(list, 0, &info), ONNX_CUDNN_OK);
  EXPECT_STREQ(info.name, "y");

  CallerTensor input(nullptr, {7, 2}, {kDLFloat, 32, 1});
  const DLTensor* inputs[] = {&input.tensor};
  onnx_cudnn_value_list* outputs = nullptr;
  ASSERT_EQ(onnx_cudnn_session_outputs_for(session.get(), nullptr, inputs, 1, &outputs),
            ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  ASSERT_EQ(onnx_cudnn_value_list_get(outputs, 0, &info), ONNX_CUDNN_OK);
  EXPECT_EQ(info.dims[0], 7);
  onnx_cudnn_value_list_destroy(outputs);
}

TEST(CApiSessionTest, NullHandlesAreErrors) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  const onnx_cudnn_value_list* list = nullptr;
  onnx_cudnn_value_list* owned = nullptr;
  onnx_cudnn_session_info info = {};
  onnx_cudnn_session_stats stats = {};
  onnx_cudnn_value_info value = {};
  onnx_cudnn_binding* binding = nullptr;
  DLManagedTensorVersioned* tensor = nullptr;
  const char* note = nullptr;
  size_t size = 0;
  const std::vector<onnx_cudnn_status> statuses = {
      onnx_cudnn_session_options_init(nullptr, 8),
      onnx_cudnn_run_options_init(nullptr, 8),
      onnx_cudnn_session_get_info(nullptr, &info),
      onnx_cudnn_session_get_info(session.get(), nullptr),
      onnx_cudnn_session_get_stats(nullptr, &stats),
      onnx_cudnn_session_get_stats(session.get(), nullptr),
      onnx_cudnn_session_get_tune_notes(nullptr, nullptr, 0, &size),
      onnx_cudnn_session_get_tune_notes(session.get(), nullptr, 1, &size),
      onnx_cudnn_session_get_tune_notes(session.get(), nullptr, 0, nullptr),
      onnx_cudnn_session_get_inputs(nullptr, &list),
      onnx_cudnn_session_get_outputs(session.get(), nullptr),
      onnx_cudnn_session_outputs_for(nullptr, nullptr, nullptr, 0, &owned),
      onnx_cudnn_session_outputs_for(session.get(), nullptr, nullptr, 0, nullptr),
      onnx_cudnn_value_list_get(nullptr, 0, &value),
      onnx_cudnn_session_run(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr),
      onnx_cudnn_session_run_into(nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr),
      onnx_cudnn_session_bind(nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &binding),
      onnx_cudnn_session_bind(session.get(), nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr),
      onnx_cudnn_binding_run(nullptr, nullptr),
      onnx_cudnn_binding_time_runs(nullptr, 0, nullptr),
      onnx_cudnn_binding_get_graph_note(nullptr, &note),
      onnx_cudnn_session_to_device(nullptr, nullptr, &tensor),
      onnx_cudnn_session_to_device(session.get(), nullptr, &tensor),
      onnx_cudnn_session_to_host(session.get(), nullptr, &tensor),
      onnx_cudnn_session_to_host(session.get(), nullptr, nullptr),
      onnx_cudnn_cancel_token_create(nullptr),
      onnx_cudnn_cancel_token_cancel(nullptr),
      onnx_cudnn_cancel_token_reset(nullptr),
  };
  for (size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_EQ(statuses[i], ONNX_CUDNN_INVALID_ARGUMENT) << "call " << i;
  }
  EXPECT_EQ(onnx_cudnn_value_list_size(nullptr), 0u);
  onnx_cudnn_session_destroy(nullptr);
  onnx_cudnn_binding_destroy(nullptr);
  onnx_cudnn_value_list_destroy(nullptr);
  onnx_cudnn_arena_destroy(nullptr);
  onnx_cudnn_cancel_token_destroy(nullptr);
}

TEST(CApiSessionTest, EachThreadHasItsLastError) {
  ExpectStatus(onnx_cudnn_binding_run(nullptr, nullptr), ONNX_CUDNN_INVALID_ARGUMENT, "binding");
  std::thread([] {
    EXPECT_STREQ(onnx_cudnn_last_error(), "");
    ExpectStatus(onnx_cudnn_session_get_info(nullptr, nullptr), ONNX_CUDNN_INVALID_ARGUMENT,
                 "session");
  }).join();
  EXPECT_THAT(onnx_cudnn_last_error(), HasSubstr("binding"));
  EXPECT_STREQ(onnx_cudnn_status_name(ONNX_CUDNN_INTERNAL), "Internal");
  EXPECT_STREQ(onnx_cudnn_status_name(9), "unknown status");
  EXPECT_STREQ(onnx_cudnn_status_name(-1), "unknown status");
}

struct Logged {
  std::string text;
  int lines = 0, severity = -1;
};
void Keep(void* context, int32_t severity, const char* message) {
  Logged& logged = *static_cast<Logged*>(context);
  logged.text = message;
  logged.severity = severity;
  ++logged.lines;
}

TEST(CApiSessionTest, MessagesGoToTheSink) {
  Logged logged;
  ASSERT_EQ(onnx_cudnn_set_log_sink(Keep, &logged), ONNX_CUDNN_OK);
  const std::string model = ReluModel();
  onnx_cudnn_session* session = nullptr;
  ASSERT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), nullptr, &session),
            ONNX_CUDNN_OK);
  const SessionHandle owner(session);
  onnx_cudnn_session_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(onnx_cudnn_session_get_info(session, &info), ONNX_CUDNN_OK);
  if (std::string(info.device) == "cuda") GTEST_SKIP() << "there is a GPU: nothing to explain";
  EXPECT_EQ(logged.text, info.device_note);
  EXPECT_EQ(logged.lines, 1);
  EXPECT_EQ(logged.severity, ONNX_CUDNN_LOG_INFO);

  ASSERT_EQ(onnx_cudnn_set_log_sink(nullptr, nullptr), ONNX_CUDNN_OK);
  ASSERT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), nullptr, &session),
            ONNX_CUDNN_OK);
  onnx_cudnn_session_destroy(session);
  EXPECT_EQ(logged.lines, 1);
}

}  // namespace
}  // namespace onnx_cudnn
