#include "runtime/ops/activation.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

struct Named {
  std::string_view name;
  GateActivation activation;  // with the default alpha and beta
  bool has_alpha = false, has_beta = false;
};

using Kind = GateActivation::Kind;
constexpr Named kNamed[] = {
    {"Affine", {Kind::kAffine, 1, 0}, true, true},
    {"Elu", {Kind::kElu, 1}, true},
    {"HardSigmoid", {Kind::kHardSigmoid, 0.2F, 0.5F}, true, true},
    {"LeakyRelu", {Kind::kLeakyRelu, 0.01F}, true},
    {"Relu", {Kind::kRelu}},
    {"ScaledTanh", {Kind::kScaledTanh, 1, 1}, true, true},
    {"Sigmoid", {Kind::kSigmoid}},
    {"Softplus", {Kind::kSoftplus}},
    {"Softsign", {Kind::kSoftsign}},
    {"Tanh", {Kind::kTanh}},
    {"ThresholdedRelu", {Kind::kThresholdedRelu, 1}, true},
};

// Returns the numbers of a list attribute one after the other.
class Numbers {
 public:
  Numbers(const Node& node, std::string_view attribute)
      : list_(node.attrs().Get<std::vector<float>>(attribute)) {}
  void Take(bool wanted, float& number) {
    if (wanted && list_ != nullptr && next_ < list_->size()) number = (*list_)[next_++];
  }

 private:
  const std::vector<float>* list_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<GateActivation>> GateActivationsOf(
    const Node& node, absl::Span<const std::string_view> defaults, int64_t directions) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d)
    names.insert(names.end(), defaults.begin(), defaults.end());
  const size_t needed = names.size();
  if (const auto* given = node.attrs().Get<std::vector<std::string>>("activations")) names = *given;
  if (names.size() < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.size(), " activations are given, expected ", needed));
  }
  Numbers alphas(node, "activation_alpha"), betas(node, "activation_beta");
  std::vector<GateActivation> activations;
  for (const std::string& name : names) {
    const Named* named = std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) {
      return absl::EqualsIgnoreCase(n.name, name);
    });
    if (named == std::end(kNamed))
      return absl::InvalidArgumentError(absl::StrCat("activation \"", name, "\" is unknown"));
    activations.push_back(named->activation);
    alphas.Take(named->has_alpha, activations.back().alpha);
    betas.Take(named->has_beta, activations.back().beta);
  }
  return activations;
}

}  // namespace onnx_cudnn
