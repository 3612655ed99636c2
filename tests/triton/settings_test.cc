// Parameters of a model's configuration.
#include "runtime/triton/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_cudnn::triton {
namespace {

using Sizes = std::vector<int64_t>;

std::string ErrorOf(const Parameters& parameters) {
  return std::string(ReadSettings(parameters, "/models/m/1").status().message());
}

TEST(TritonSettingsTest, ReadsEveryParameter) {
  const ModelSettings settings = ReadSettings({{"allow_nondeterministic", "true"},
                                               {"batch_sizes", "1, 8,32"},
                                               {"cuda_graph", "false"},
                                               {"devices", "0,2"},
                                               {"first_program", "quick"},
                                               {"follow_hub_links", "true"},
                                               {"map_external_data", "true"},
                                               {"max_executors", "3"},
                                               {"max_memory", "2G"},
                                               {"max_programs", "9"},
                                               {"op_libraries", "a.so,/b.so"},
                                               {"optimization_level", "1"},
                                               {"partitioner", "cost"},
                                               {"plan_cache", "plans.json"},
                                               {"precision", "fp16"},
                                               {"rerun_if_lost", "true"},
                                               {"shape_buckets", "length"},
                                               {"streams", "1"},
                                               {"threads", "2"},
                                               {"tune", "background"},
                                               {"tune_budget", "2.5"},
                                               {"tune_worker", "/bin/worker"},
                                               {"warm_up", "8"},
                                               {"TRITON_BATCH_STRATEGY_PATH", "of the server"}},
                                              "/models/m/1")
                                     .value();
  const SessionOptions& session = settings.session;
  EXPECT_TRUE(session.allow_nondeterministic && session.follow_hub_links &&
              session.map_external_data && session.rerun_if_lost && !session.cuda_graph);
  EXPECT_EQ(settings.batch_sizes, Sizes({1, 8, 32}));
  EXPECT_EQ(session.devices, std::vector<int>({0, 2}));
  EXPECT_EQ(session.first_program, FirstProgram::kQuick);
  EXPECT_EQ(session.max_executors_per_program, 3);
  EXPECT_EQ(session.max_memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(session.max_programs, 9);
  EXPECT_EQ(session.op_libraries, std::vector<std::string>({"/models/m/1/a.so", "/b.so"}));
  EXPECT_EQ(session.optimization_level, 1);
  EXPECT_EQ(session.partitioner, PartitionerChoice::kCost);
  EXPECT_EQ(session.plan_cache, "/models/m/1/plans.json");
  EXPECT_EQ(session.precision, PrecisionChoice::kFp16);
  EXPECT_EQ(session.shape_buckets, std::vector<std::string>({"length"}));
  EXPECT_EQ(session.streams, 1);
  EXPECT_EQ(session.threads, 2);
  EXPECT_EQ(session.tune, TuneMode::kBackground);
  EXPECT_EQ(session.tune_budget_s, 2.5);
  EXPECT_EQ(session.tune_worker, "/bin/worker");
  EXPECT_EQ(settings.warm_up_sizes, Sizes({8}));
}

TEST(TritonSettingsTest, ListsTheKnownParametersBesideAnUnknownOne) {
  EXPECT_EQ(ErrorOf({{"precison", "fp16"}}),
            "unknown parameter \"precison\", known are allow_nondeterministic, batch_sizes, "
            "cuda_graph, devices, first_program, follow_hub_links, map_external_data, "
            "max_executors, max_memory, max_programs, op_libraries, optimization_level, "
            "partitioner, plan_cache, precision, rerun_if_lost, shape_buckets, streams, threads, "
            "tune, tune_budget, tune_worker, warm_up");
}

TEST(TritonSettingsTest, SaysWhichValuesThereAre) {
  EXPECT_EQ(ErrorOf({{"precision", "int8"}}),
            "parameter \"precision\": expected auto, strict, tf32, fp16, bf16, found \"int8\"");
  EXPECT_EQ(ErrorOf({{"cuda_graph", "1"}}),
            "parameter \"cuda_graph\": expected true or false, found \"1\"");
  EXPECT_EQ(ErrorOf({{"max_programs", "0"}}),
            "parameter \"max_programs\": expected an integer from 1 on, found \"0\"");
  EXPECT_EQ(
      ErrorOf({{"devices", "0,gpu1"}}),
      "parameter \"devices\": expected numbers of GPUs (\"0,1\") or \"all\", found \"0,gpu1\"");
  EXPECT_EQ(ErrorOf({{"tune_budget", "-1"}}),
            "parameter \"tune_budget\": expected seconds, found \"-1\"");
  for (const char* bytes : {"", "G", "-1", "1.5G", "99999999999999999999", "9999999999G"}) {
    EXPECT_EQ(ErrorOf({{"max_memory", bytes}}),
              std::string("parameter \"max_memory\": expected bytes (\"1073741824\", \"1G\", "
                          "\"512MiB\"), found \"") +
                  bytes + "\"");
  }
  for (const char* sizes : {"8,1", "1,1", "0", "x", ""}) {
    EXPECT_EQ(ErrorOf({{"warm_up", sizes}}),
              std::string("parameter \"warm_up\": expected ascending numbers of rows "
                          "(\"1,8,32\"), found \"") +
                  sizes + "\"");
  }
}

TEST(TritonSettingsTest, UnitsOfMemory) {
  const auto bytes = [](const std::string& text) {
    return ReadSettings({{"max_memory", text}}, "").value().session.max_memory_bytes;
  };
  EXPECT_EQ(bytes("12"), 12);
  EXPECT_EQ(bytes("3KB"), 3000);
  EXPECT_EQ(bytes("3K"), 3072);
  EXPECT_EQ(bytes("512MiB"), 512 << 20);
}

TEST(TritonSettingsTest, BatchesHaveFewSizes) {
  EXPECT_EQ(BatchSizes({}, 1).value(), Sizes({1}));
  EXPECT_EQ(BatchSizes({}, 6).value(), Sizes({1, 2, 4, 6}));
  EXPECT_EQ(BatchSizes({.batch_sizes = {3}}, 6).value(), Sizes({3, 6}));
  EXPECT_EQ(BatchSizes({.any_batch_size = true}, 6).value(), Sizes());
  EXPECT_EQ(BatchSizes({.batch_sizes = {8}}, 6).status().message(),
            "parameter \"batch_sizes\": 8 is beyond max_batch_size = 6");
  EXPECT_EQ(SizeFor({1, 2, 4}, 3), 4);
  EXPECT_EQ(SizeFor({1, 2, 4}, 2), 2);
  EXPECT_EQ(SizeFor({1, 2, 4}, 4), 4);
  EXPECT_EQ(SizeFor({}, 3), 3);
}

}  // namespace
}  // namespace onnx_cudnn::triton
