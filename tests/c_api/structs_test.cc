// Structs of headers that are older or newer than the library.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "onnx_cudnn.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

// What a header of a later version has appended.
template <typename Struct>
struct Later {
  Struct known;
  int64_t appended;
};

onnx_cudnn_status Load(const onnx_cudnn_session_options* options) {
  const std::string model = ReluModel();
  onnx_cudnn_session* session = nullptr;
  const onnx_cudnn_status status =
      onnx_cudnn_session_load_bytes(model.data(), model.size(), options, &session);
  onnx_cudnn_session_destroy(session);
  return status;
}

TEST(CApiStructsTest, InitWritesDefaultsWithinTheSize) {
  Later<onnx_cudnn_session_options> later;
  std::memset(&later, 0xff, sizeof(later));
  ASSERT_EQ(onnx_cudnn_session_options_init(&later.known, sizeof(later)), ONNX_CUDNN_OK);
  EXPECT_EQ(later.known.struct_size, sizeof(later));
  EXPECT_EQ(later.known.optimization_level, 2);
  EXPECT_EQ(later.known.cuda_graph, 1);
  EXPECT_EQ(later.known.max_programs, 8);
  EXPECT_EQ(later.known.max_executors_per_program, 4);
  EXPECT_EQ(later.known.target, nullptr);
  EXPECT_EQ(later.appended, 0);

  onnx_cudnn_session_options earlier;
  std::memset(&earlier, 0xff, sizeof(earlier));
  const size_t size = offsetof(onnx_cudnn_session_options, threads);
  ASSERT_EQ(onnx_cudnn_session_options_init(&earlier, size), ONNX_CUDNN_OK);
  EXPECT_EQ(earlier.struct_size, size);
  EXPECT_EQ(earlier.device, ONNX_CUDNN_DEVICE_AUTO);
  EXPECT_EQ(earlier.threads, -1);  // is the caller's
}

TEST(CApiStructsTest, FieldsBeyondTheSizeTakeDefaults) {
  onnx_cudnn_session_options options = CpuOptions();
  options.threads = -1;
  ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "threads");
  options.struct_size = offsetof(onnx_cudnn_session_options, threads);
  EXPECT_EQ(Load(&options), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  options = CpuOptions();
  options.first_program = 9;
  ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "first_program");
  options.struct_size = offsetof(onnx_cudnn_session_options, first_program);
  EXPECT_EQ(Load(&options), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  options = CpuOptions();
  const char* const buckets[] = {nullptr};
  options.shape_buckets = buckets;
  options.shape_bucket_count = 1;
  ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "shape_buckets");
  options.struct_size = offsetof(onnx_cudnn_session_options, shape_buckets);
  EXPECT_EQ(Load(&options), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  options = CpuOptions();
  options.keep_f32 = buckets;
  options.keep_f32_count = 1;
  ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "keep_f32");
  options.struct_size = offsetof(onnx_cudnn_session_options, keep_f32);
  EXPECT_EQ(Load(&options), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  options.device = 99;  // within the size
  ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "device");
}

TEST(CApiStructsTest, UnknownFieldsMustBeZero) {
  Later<onnx_cudnn_session_options> later = {CpuOptions(), 0};
  later.known.struct_size = sizeof(later);
  EXPECT_EQ(Load(&later.known), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  later.appended = 1;
  ExpectStatus(Load(&later.known), ONNX_CUDNN_INVALID_ARGUMENT, "a field at byte 240 is set");

  const SessionHandle session = LoadOnCpu(ReluModel());
  Later<onnx_cudnn_run_options> run = {};
  ASSERT_EQ(onnx_cudnn_run_options_init(&run.known, sizeof(run)), ONNX_CUDNN_OK);
  run.appended = 1;
  std::vector<float> x = {1, 1};
  OwnedDLTensor y;
  ExpectStatus(RunOne(session.get(), CallerTensor(x, {1, 2}).tensor, y, &run.known),
               ONNX_CUDNN_INVALID_ARGUMENT, "run options: a field at byte 24 is set");
}

TEST(CApiStructsTest, SizesThatNobodySetAreErrors) {
  onnx_cudnn_session_options options = CpuOptions();
  for (const size_t size : {size_t{0}, sizeof(size_t) - 1, ~size_t{0}}) {
    options.struct_size = size;
    ExpectStatus(Load(&options), ONNX_CUDNN_INVALID_ARGUMENT, "struct_size");
    ExpectStatus(onnx_cudnn_session_options_init(&options, size), ONNX_CUDNN_INVALID_ARGUMENT,
                 "struct_size");
  }
}

TEST(CApiStructsTest, ResultsFitTheCallersStruct) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  Later<onnx_cudnn_session_info> later;
  std::memset(&later, 0xff, sizeof(later));
  later.known.struct_size = sizeof(later);
  ASSERT_EQ(onnx_cudnn_session_get_info(session.get(), &later.known), ONNX_CUDNN_OK);
  EXPECT_EQ(later.known.struct_size, sizeof(later));
  EXPECT_STREQ(later.known.device, "cpu");
  EXPECT_EQ(later.appended, 0);

  onnx_cudnn_session_info earlier;
  std::memset(&earlier, 0xff, sizeof(earlier));
  earlier.struct_size = offsetof(onnx_cudnn_session_info, device_type);
  ASSERT_EQ(onnx_cudnn_session_get_info(session.get(), &earlier), ONNX_CUDNN_OK);
  EXPECT_STREQ(earlier.device, "cpu");
  EXPECT_EQ(earlier.device_type, -1);

  onnx_cudnn_session_stats stats = {};
  ExpectStatus(onnx_cudnn_session_get_stats(session.get(), &stats), ONNX_CUDNN_INVALID_ARGUMENT,
               "struct_size");
}

}  // namespace
}  // namespace onnx_cudnn
