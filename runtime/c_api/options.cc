#include "runtime/c_api/options.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/c_api/boundary.h"
#include "runtime/c_api/handles.h"

namespace onnx_cudnn::c_api {
namespace {

static_assert(kAllDevices == ONNX_CUDNN_ALL_DEVICES);
static_assert(static_cast<int>(DeviceChoice::kCuda) == ONNX_CUDNN_DEVICE_CUDA);
static_assert(static_cast<int>(PrecisionChoice::kBf16) == ONNX_CUDNN_PRECISION_BF16);
static_assert(static_cast<int>(PartitionerChoice::kCost) == ONNX_CUDNN_PARTITIONER_COST);
static_assert(static_cast<int>(ProgressStage::kTuning) == ONNX_CUDNN_STAGE_TUNING);
static_assert(static_cast<int>(TuneMode::kBackground) == ONNX_CUDNN_TUNE_BACKGROUND);

onnx_cudnn_session_options SessionDefaults() {
  const SessionOptions defaults;
  onnx_cudnn_session_options options = {};
  options.struct_size = sizeof(options);
  options.optimization_level = defaults.optimization_level;
  options.cuda_graph = defaults.cuda_graph;
  options.max_programs = defaults.max_programs;
  options.max_executors_per_program = defaults.max_executors_per_program;
  return options;
}

onnx_cudnn_run_options RunDefaults() { return {.struct_size = sizeof(onnx_cudnn_run_options)}; }

// Writes `defaults` to the caller's struct, of which nothing is set yet.
template <typename Struct>
onnx_cudnn_status InitStruct(const Struct& defaults, Struct* caller, size_t struct_size) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(caller, "options"));
    RETURN_IF_ERROR(CheckStructSize(struct_size, "options"));
    caller->struct_size = struct_size;
    return WriteStruct(defaults, "options", caller);
  });
}

// `target` = the member of an enum, which has all numbers from 0 to `last`.
template <typename Enum>
absl::Status ReadChoice(int32_t number, Enum last, std::string_view name, Enum& target) {
  if (number < 0 || number > static_cast<int>(last)) {
    return absl::InvalidArgumentError(absl::StrFormat("option %s: expected 0 to %d, found %d", name,
                                                      static_cast<int>(last), number));
  }
  target = static_cast<Enum>(number);
  return absl::OkStatus();
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

absl::Status ReadTexts(const char* const* texts, size_t count, std::string_view option,
                       std::vector<std::string>& target) {
  if (count > 0) RETURN_IF_ERROR(CheckGiven(texts, absl::StrCat("option ", option)));
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckGiven(texts[i], absl::StrFormat("option %s[%d]", option, i)));
    target.push_back(texts[i]);
  }
  return absl::OkStatus();
}

absl::Status ReadChoices(const onnx_cudnn_session_options& from, SessionOptions& to) {
  RETURN_IF_ERROR(ReadChoice(from.device, DeviceChoice::kCuda, "device", to.device));
  RETURN_IF_ERROR(ReadChoice(from.precision, PrecisionChoice::kBf16, "precision", to.precision));
  RETURN_IF_ERROR(
      ReadChoice(from.partitioner, PartitionerChoice::kCost, "partitioner", to.partitioner));
  RETURN_IF_ERROR(ReadChoice(from.tune, TuneMode::kBackground, "tune", to.tune));
  return ReadChoice(from.first_program, FirstProgram::kQuick, "first_program", to.first_program);
}

}  // namespace

absl::StatusOr<SessionOptions> SessionOptionsOf(const onnx_cudnn_session_options* options) {
  ASSIGN_OR_RETURN(const onnx_cudnn_session_options from,
                   ReadStruct(options, "session options", SessionDefaults()));
  SessionOptions to;
  RETURN_IF_ERROR(ReadChoices(from, to));
  RETURN_IF_ERROR(ReadTexts(from.disabled_passes, from.disabled_pass_count, "disabled_passes",
                            to.disabled_passes));
  RETURN_IF_ERROR(
      ReadTexts(from.op_libraries, from.op_library_count, "op_libraries", to.op_libraries));
  RETURN_IF_ERROR(
      ReadTexts(from.shape_buckets, from.shape_bucket_count, "shape_buckets", to.shape_buckets));
  RETURN_IF_ERROR(ReadTexts(from.keep_f32, from.keep_f32_count, "keep_f32", to.keep_f32));
  to.check_finite = from.check_finite != 0;
  to.device_ordinal = from.device_ordinal;
  if (from.device_count > 0 && from.devices == nullptr) {
    return absl::InvalidArgumentError("option devices: expected an array, found NULL");
  }
  to.devices.assign(from.devices, from.devices + from.device_count);
  to.rerun_if_lost = from.rerun_if_lost != 0;
  to.threads = from.threads;
  to.optimization_level = from.optimization_level;
  to.allow_nondeterministic = from.allow_nondeterministic != 0;
  to.compute_capability = from.compute_capability;
  to.target = TextOf(from.target);
  to.pins = TextOf(from.pins);
  to.tune_budget_s = from.tune_budget_s;
  to.cuda_graph = from.cuda_graph != 0;
  to.plan_cache = TextOf(from.plan_cache);
  to.tune_worker = TextOf(from.tune_worker);
  if (from.progress != nullptr) {
    to.progress = [report = from.progress, context = from.progress_context](const Progress& at) {
      const std::string text(at.text);
      return report(context, static_cast<int32_t>(at.stage), at.done, at.total, text.c_str()) == 0;
    };
  }
  if (from.cancel != nullptr) to.cancel = &from.cancel->cancelled;
  to.map_external_data = from.map_external_data != 0;
  to.follow_hub_links = from.follow_hub_links != 0;
  to.streams = from.streams;
  to.max_programs = from.max_programs;
  to.max_executors_per_program = from.max_executors_per_program;
  to.max_memory_bytes = from.max_memory_bytes;
  if (from.arena != nullptr) to.arena = from.arena->arena;
  return to;
}

absl::StatusOr<RunOptions> RunOptionsOf(const onnx_cudnn_run_options* options) {
  ASSIGN_OR_RETURN(const onnx_cudnn_run_options from,
                   ReadStruct(options, "run options", RunDefaults()));
  RunOptions to;
  to.stream = from.stream;
  if (from.cancel != nullptr) to.cancel = &from.cancel->cancelled;
  return to;
}

}  // namespace onnx_cudnn::c_api

using namespace onnx_cudnn::c_api;  // NOLINT: the functions below are C

onnx_cudnn_status onnx_cudnn_session_options_init(onnx_cudnn_session_options* options,
                                                  size_t struct_size) {
  return InitStruct(SessionDefaults(), options, struct_size);
}

onnx_cudnn_status onnx_cudnn_run_options_init(onnx_cudnn_run_options* options, size_t struct_size) {
  return InitStruct(RunDefaults(), options, struct_size);
}

onnx_cudnn_status onnx_cudnn_arena_create(int64_t bytes, onnx_cudnn_arena** arena) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(arena, "arena"));
    *arena = new onnx_cudnn_arena{std::make_shared<onnx_cudnn::SharedArena>(bytes)};
    return absl::OkStatus();
  });
}

void onnx_cudnn_arena_destroy(onnx_cudnn_arena* arena) { delete arena; }

onnx_cudnn_status onnx_cudnn_cancel_token_create(onnx_cudnn_cancel_token** token) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(ClearResult(token, "token"));
    *token = new onnx_cudnn_cancel_token;
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_cancel_token_cancel(onnx_cudnn_cancel_token* token) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(token, "token"));
    token->cancelled = true;
    return absl::OkStatus();
  });
}

onnx_cudnn_status onnx_cudnn_cancel_token_reset(onnx_cudnn_cancel_token* token) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(token, "token"));
    token->cancelled = false;
    return absl::OkStatus();
  });
}

void onnx_cudnn_cancel_token_destroy(onnx_cudnn_cancel_token* token) { delete token; }
