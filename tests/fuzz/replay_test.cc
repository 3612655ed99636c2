// The fuzzers' corpora, their regressions and a few thousand seeded mutations, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "absl/strings/str_join.h"
#include "runtime/import/onnx_loader.h"
#include "tests/fuzz/corpora.h"
#include "tests/fuzz/targets.h"

namespace onnx_cudnn {
namespace {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }

  // `bytes` with one to four mutations: bytes changed, removed, repeated, or taken from `other`.
  std::string Mutate(std::string bytes, const std::string& other) {
    for (size_t left = 1 + Below(4); left > 0; --left) MutateOnce(bytes, other);
    return bytes;
  }

 private:
  void MutateOnce(std::string& bytes, const std::string& other) {
    if (bytes.empty()) bytes = other;
    const size_t at = Below(bytes.size()),
                 length = 1 + Below(std::min<size_t>(bytes.size() - at, 32));
    switch (Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(Below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default:
        bytes.replace(at, length, other.substr(Below(other.size()), length));
    }
  }

  std::mt19937_64 random_;
};

void Replay(const std::vector<std::string>& corpus, void (*target)(std::string_view),
            int mutations) {
  for (const std::string& input : corpus) target(input);
  Mutator mutator(1);
  for (int i = 0; i < mutations; ++i) {
    const std::string& input = corpus[mutator.Below(corpus.size())];
    target(mutator.Mutate(input, corpus[mutator.Below(corpus.size())]));
  }
}

TEST(FuzzReplayTest, ModelsOfTheCorpusLoadUnlessTheyHoldWhatIsRefused) {
  std::vector<std::string> refusals;
  for (const std::string& bytes : ModelCorpus()) {
    const absl::Status status = LoadModelBytes(bytes).status();
    if (!status.ok()) refusals.emplace_back(status.message());
  }
  EXPECT_EQ(refusals.size(), 2u) << absl::StrJoin(refusals,
                                                  "\n");  // external data, a sparse tensor
}

TEST(FuzzReplayTest, LoaderAnswersMutatedVectors) {
  const std::vector<std::string> vectors = VectorCorpus(ONNX_CUDNN_VECTORS);
  ASSERT_GT(vectors.size(), 1500u);
  Replay(vectors, FuzzLoad, 2000);
}

TEST(FuzzReplayTest, EveryFolderOfRegressionsIsOfATarget) {
  size_t inputs = 0;
  for (const auto& folder : std::filesystem::directory_iterator(RegressionsFolder())) {
    const std::string name = folder.path().filename();
    const auto has_name = [&](const FuzzTarget& target) { return target.name == name; };
    EXPECT_TRUE(std::any_of(FuzzTargets().begin(), FuzzTargets().end(), has_name)) << name;
    inputs += Regressions(name).size();
  }
  EXPECT_GT(inputs, 0u);
}

// Number of mutations that take a few seconds under sanitizers.
int MutationsOf(std::string_view name) {
  if (name == "graphs") return 1000;
  return name == "pins" ? 20'000 : 4000;
}

class FuzzTargetTest : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzTargetTest, AnswersItsCorpusAndMutationsOfIt) {
  const FuzzTarget& target = GetParam();
  Replay(target.corpus(), target.run, MutationsOf(target.name));
}

TEST_P(FuzzTargetTest, AnswersItsRegressions) {
  for (const std::string& input : Regressions(GetParam().name)) GetParam().run(input);
}

std::string NameOf(const testing::TestParamInfo<FuzzTarget>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, FuzzTargetTest, testing::ValuesIn(FuzzTargets()), NameOf);

}  // namespace

void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }

}  // namespace onnx_cudnn
