// Every vector passes, or is refused with the message listed in failing.txt: on the host's best
// device (*.Cpu/* runs on a GPU if there is one), and partitioned for an H200 by both partitioners,
// run by the CPU device.
//
// ONNX_CUDNN_UPDATE_FAILING=1 build/bin/test_onnx_backend --gtest_filter='*.Cpu/*'
// updates failing.txt for the vectors that the filter selects. Wrong results are never added to it.
//
// This program has image decoders: without_image_decoders.txt is not about it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "runtime/ops/image_decoder.h"
#include "tests/onnx_backend/failing.h"
#include "tests/onnx_backend/run_vector.h"

namespace onnx_cudnn {
namespace {

constexpr const char* kGroups[] = {"node", "simple", "pytorch-converted", "pytorch-operator",
                                   "light"};

bool Updates() { return std::getenv("ONNX_CUDNN_UPDATE_FAILING") != nullptr; }

// failing.txt, updated at the end if requested.
class FailingList : public testing::Environment {
 public:
  void TearDown() override {
    if (Updates()) WriteRefusals(kFailing, reasons_);
  }
  const std::map<std::string, std::string>& reasons() const { return reasons_; }
  // The message expected of a vector; empty: it passes.
  std::string Reason(const std::string& name) const {
    auto entry = reasons_.find(name);
    return entry == reasons_.end() ? "" : entry->second;
  }
  void Update(const std::string& name, const std::string& reason) {
    reasons_.erase(name);
    if (!reason.empty()) reasons_[name] = reason;
  }

 private:
  std::map<std::string, std::string> reasons_ = ReadRefusals(kFailing);
};

FailingList* const failing =
    static_cast<FailingList*>(testing::AddGlobalTestEnvironment(new FailingList));  // which owns it

class OnnxBackendTest : public testing::TestWithParam<TestVector> {
 protected:
  static void Expect(const SessionOptions& options) {
    const TestVector& vector = GetParam();
    const Outcome outcome = RunVector(vector, options);
    EXPECT_NE(outcome.kind, Outcome::Kind::kFail) << outcome.message;
    RecordProperty("nodes", static_cast<int>(outcome.nodes));
    RecordProperty("host_nodes", static_cast<int>(outcome.host_nodes));
    if (outcome.kind == Outcome::Kind::kFail) return;
    if (Updates()) failing->Update(vector.name, outcome.message);
    EXPECT_EQ(outcome.message, failing->Reason(vector.name))
        << "(what is now; what failing.txt says)";
    if (!outcome.message.empty()) GTEST_SKIP() << kExpectedRefusal << outcome.message;
  }
};

TEST_P(OnnxBackendTest, Cpu) { Expect({.precision = PrecisionChoice::kStrict}); }
TEST_P(OnnxBackendTest, H200Greedy) { Expect({.target = "h200"}); }
TEST_P(OnnxBackendTest, H200Cost) {
  Expect({.target = "h200", .partitioner = PartitionerChoice::kCost});
}

std::string CaseName(const testing::TestParamInfo<TestVector>& info) {
  const std::string& name = info.param.name;
  return absl::StrReplaceAll(name.substr(name.find('/') + 1), {{"test_", ""}});
}

// Both lists.
std::map<std::string, std::string> AllRefusals() {
  std::map<std::string, std::string> refusals = ReadRefusals(kWithoutImageDecoders);
  refusals.insert(failing->reasons().begin(), failing->reasons().end());
  return refusals;
}

TEST(FailingListTest, NamesVectorsThatExist) {
  std::set<std::string> names;
  for (const char* group : kGroups) {
    for (const TestVector& vector : FindVectors(group)) names.insert(vector.name);
  }
  for (const auto& [name, reason] : AllRefusals()) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(FailingListTest, NamesOpOpsetAndTypeInEachReason) {
  const std::regex form(R"((^| )[\w.]+ \(opset \d+\) on [\w\[\],?()]+: )");
  for (const auto& [name, reason] : AllRefusals()) {
    EXPECT_TRUE(std::regex_search(reason, form)) << name << ": " << reason;
  }
}

TEST(FailingListTest, ImagesAloneNeedDecoders) {
  for (const auto& [name, reason] : ReadRefusals(kWithoutImageDecoders)) {
    EXPECT_TRUE(absl::StrContains(reason, kNoImageDecoders)) << name << ": " << reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Node, OnnxBackendTest, testing::ValuesIn(FindVectors("node")), CaseName);
INSTANTIATE_TEST_SUITE_P(Simple, OnnxBackendTest, testing::ValuesIn(FindVectors("simple")),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(PytorchConverted, OnnxBackendTest,
                         testing::ValuesIn(FindVectors("pytorch-converted")), CaseName);
INSTANTIATE_TEST_SUITE_P(PytorchOperator, OnnxBackendTest,
                         testing::ValuesIn(FindVectors("pytorch-operator")), CaseName);
INSTANTIATE_TEST_SUITE_P(Light, OnnxBackendTest, testing::ValuesIn(FindVectors("light")), CaseName);

}  // namespace
}  // namespace onnx_cudnn
