// ONNX's backend test vectors on an emulated GPU. Vectors of whole networks are left out: they take
// minutes here.
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "runtime/ops/image_decoder.h"
#include "tests/emulator/emulated_gpu.h"
#include "tests/onnx_backend/failing.h"
#include "tests/onnx_backend/run_vector.h"

namespace onnx_cudnn {
namespace {

// Counts the vectors that launched something.
class Launches : public testing::Environment {
 public:
  void TearDown() override {
    if (vectors_ > 1000) {
      EXPECT_GT(launching_, vectors_ / 2) << "of " << vectors_ << " vectors";
    }
  }
  void Count(int launches) {
    ++vectors_;
    launching_ += launches > 0 ? 1 : 0;
  }

 private:
  int vectors_ = 0, launching_ = 0;
};

Launches* const launches =
    static_cast<Launches*>(testing::AddGlobalTestEnvironment(new Launches));  // which owns it

// The messages with which this program refuses vectors.
std::map<std::string, std::string> Refusals() {
  std::map<std::string, std::string> refusals = ReadRefusals(kFailing);
  if (DecodeImage == nullptr) refusals.merge(ReadRefusals(kWithoutImageDecoders));
  return refusals;
}

class EmulatedVectorTest : public testing::TestWithParam<TestVector> {};

TEST_P(EmulatedVectorTest, PassesOrIsRefusedAsOnTheCpuDevice) {
  static const auto& refusals = *new std::map<std::string, std::string>(Refusals());
  FakeCuda cuda(EmulatedGpu());
  const Outcome outcome =
      RunVector(GetParam(), {.device = DeviceChoice::kCuda, .precision = PrecisionChoice::kStrict});
  launches->Count(cuda.launches());
  EXPECT_NE(outcome.kind, Outcome::Kind::kFail) << outcome.message;
  const auto entry = refusals.find(GetParam().name);
  EXPECT_EQ(outcome.message, entry == refusals.end() ? "" : entry->second);
  if (!outcome.message.empty()) GTEST_SKIP() << kExpectedRefusal << outcome.message;
}

std::string CaseName(const testing::TestParamInfo<TestVector>& info) {
  const std::string& name = info.param.name;
  return absl::StrReplaceAll(name.substr(name.find('/') + 1), {{"test_", ""}});
}

INSTANTIATE_TEST_SUITE_P(Node, EmulatedVectorTest, testing::ValuesIn(FindVectors("node")),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Simple, EmulatedVectorTest, testing::ValuesIn(FindVectors("simple")),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(PytorchOperator, EmulatedVectorTest,
                         testing::ValuesIn(FindVectors("pytorch-operator")), CaseName);

}  // namespace
}  // namespace onnx_cudnn
