#include "runtime/session/worker_job.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

TEST(WorkerJobTest, IsReadAsItWasWritten) {
  const WorkerJob job{
      .model = "folder/\xff.onnx",
      .options = {.device = DeviceChoice::kCuda,
                  .device_ordinal = 3,
                  .threads = 5,
                  .optimization_level = 1,
                  .precision = PrecisionChoice::kBf16,
                  .keep_f32 = {"conv1"},
                  .allow_nondeterministic = true,
                  .disabled_passes = {"fold-pad"},
                  .op_libraries = {"ops/libmine.so"},
                  .compute_capability = 80,
                  .partitioner = PartitionerChoice::kCost,
                  .pins = "pin * \"\xfe\"",
                  .map_external_data = true,
                  .follow_hub_links = true,
                  .streams = 4,
                  .max_memory_bytes = int64_t{1} << 40},
      .key = {.dims = {{1, 3}, {}},
              .values = {.bytes = {{1, std::string("\0\x80", 2)}}, .strings = {{0, {"a", ""}}}}}};
  const TempFolder folder;
  const std::string path = folder.path("job.json");
  ASSERT_TRUE(WriteJob(job, path).ok());
  const absl::StatusOr<WorkerJob> read = ReadJob(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->model, job.model);
  EXPECT_EQ(read->options.device, job.options.device);
  EXPECT_EQ(read->options.device_ordinal, job.options.device_ordinal);
  EXPECT_EQ(read->options.threads, job.options.threads);
  EXPECT_EQ(read->options.optimization_level, job.options.optimization_level);
  EXPECT_EQ(read->options.precision, job.options.precision);
  EXPECT_EQ(read->options.allow_nondeterministic, job.options.allow_nondeterministic);
  EXPECT_EQ(read->options.disabled_passes, job.options.disabled_passes);
  EXPECT_EQ(read->options.keep_f32, job.options.keep_f32);
  EXPECT_EQ(read->options.op_libraries, job.options.op_libraries);
  EXPECT_EQ(read->options.compute_capability, job.options.compute_capability);
  EXPECT_EQ(read->options.partitioner, job.options.partitioner);
  EXPECT_EQ(read->options.pins, job.options.pins);
  EXPECT_EQ(read->options.map_external_data, job.options.map_external_data);
  EXPECT_EQ(read->options.follow_hub_links, job.options.follow_hub_links);
  EXPECT_EQ(read->options.streams, job.options.streams);
  EXPECT_EQ(read->options.max_memory_bytes, job.options.max_memory_bytes);
  EXPECT_EQ(read->key, job.key);
}

TEST(WorkerJobTest, AFileThatIsNoJobIsInvalid) {
  const TempFolder folder;
  for (const char* text : {"", "[]", "{\"model\": 3}"}) {
    EXPECT_EQ(ReadJob(folder.Write("job.json", text)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace onnx_cudnn
