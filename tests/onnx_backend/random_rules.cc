#include "tests/onnx_backend/random_rules.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

double ElementOf(const HostTensor& tensor, int64_t i) {
  return VisitElementType(tensor.dtype(), [&](auto element) {
    return Widen<double>(tensor.data<decltype(element)>()[i]);
  });
}

std::string AddBits(const HostTensor& probabilities, const HostTensor& found, bool inverted,
                    Tally& tally) {
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double p = ElementOf(probabilities, i), bit = ElementOf(found, i);
    if (bit != 0 && bit != 1) return absl::StrCat("element ", i, " is ", bit, ", not 0 or 1");
    tally.Add(bit == 1, inverted ? 1 - p : p);
  }
  return "";
}

std::string Bernoulli(const NamedTensors& given, const NamedTensors& found, Tally& tally) {
  return AddBits(given.at("x"), found.at("y"), /*inverted=*/false, tally);
}

// The function body computes number > x, a one with probability 1 − x, against the op's text
// ("an output of 1 is produced with probability p").
std::string BernoulliBody(const NamedTensors& given, const NamedTensors& found, Tally& tally) {
  return AddBits(given.at("x"), found.at("y"), /*inverted=*/true, tally);
}

// Each element is 0, or x / (1 − ratio); if there is a mask, as the mask says.
std::string Dropout(const NamedTensors& given, const NamedTensors& found, Tally& tally) {
  const HostTensor &x = given.at("x"), &y = found.at("y");
  const double ratio = ElementOf(given.at("r"), 0);
  const auto mask = found.find("z");
  for (int64_t i = 0; i < y.elements(); ++i) {
    const double scaled = ElementOf(x, i) / (1 - ratio), element = ElementOf(y, i);
    const bool kept = mask == found.end() ? element != 0 : ElementOf(mask->second, i) != 0;
    const double expected = kept ? scaled : 0;
    if (std::abs(element - expected) > 1e-6 * std::abs(expected)) {
      return absl::StrCat("element ", i, " is ", element, ", expected ", expected);
    }
    tally.Add(kept, 1 - ratio);
  }
  return "";
}

struct Row {
  std::string_view vector;
  RandomRule rule;
};
// Vectors of ratio 0 are exact and not listed.
constexpr Row kRows[] = {
    {"node/test_bernoulli", Bernoulli},
    {"node/test_bernoulli_double", Bernoulli},
    {"node/test_bernoulli_double_expanded", BernoulliBody},
    {"node/test_bernoulli_expanded", BernoulliBody},
    {"node/test_bernoulli_seed", Bernoulli},
    {"node/test_bernoulli_seed_expanded", BernoulliBody},
    {"node/test_training_dropout", Dropout},
    {"node/test_training_dropout_default", Dropout},
    {"node/test_training_dropout_default_mask", Dropout},
    {"node/test_training_dropout_mask", Dropout},
};

}  // namespace

void Tally::Add(bool one, double probability) {
  ones += one ? 1 : 0;
  expected += probability;
  variance += probability * (1 - probability);
}

std::string Tally::Wrong() const {
  if (std::abs(ones - expected) <= 6 * std::sqrt(variance)) return "";
  return absl::StrCat(ones, " ones, expected about ", expected);
}

RandomRule FindRandomRule(std::string_view vector) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.vector == vector; });
  return row == std::end(kRows) ? nullptr : row->rule;
}

}  // namespace onnx_cudnn
