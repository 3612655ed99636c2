#include "passes/shape_buckets/affine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_cudnn {

Affine Affine::Length(int index) {
  Affine affine;
  affine.factors_[index] = 1;
  return affine;
}

int64_t Affine::At(absl::Span<const int64_t> lengths) const {
  int64_t sum = constant_;
  for (const auto& [index, factor] : factors_) sum += factor * lengths[index];
  return sum;
}

int64_t Affine::Least(absl::Span<const int64_t> most) const {
  int64_t sum = constant_;
  for (const auto& [index, factor] : factors_) sum += std::min<int64_t>(0, factor * most[index]);
  return sum;
}

int64_t Affine::Most(absl::Span<const int64_t> most) const { return -Times(-1).Least(most); }

Affine Affine::operator+(const Affine& other) const {
  Affine sum = *this;
  sum.constant_ += other.constant_;
  for (const auto& [index, factor] : other.factors_) {
    if ((sum.factors_[index] += factor) == 0) sum.factors_.erase(index);
  }
  return sum;
}

Affine Affine::Times(int64_t factor) const {
  if (factor == 0) return 0;
  Affine product = *this;
  product.constant_ *= factor;
  for (auto& [index, own] : product.factors_) own *= factor;
  return product;
}

std::optional<Affine> Affine::Product(const Affine& a, const Affine& b) {
  if (a.is_constant()) return b.Times(a.constant());
  if (b.is_constant()) return a.Times(b.constant());
  return std::nullopt;
}

std::optional<Affine> Affine::DividedBy(int64_t divisor) const {
  if (divisor == 0 || constant_ % divisor != 0) return std::nullopt;
  Affine quotient = *this;
  quotient.constant_ /= divisor;
  for (auto& [index, factor] : quotient.factors_) {
    if (factor % divisor != 0) return std::nullopt;
    factor /= divisor;
  }
  return quotient;
}

Affine Affine::With(int index, const Affine& value) const {
  const auto found = factors_.find(index);
  if (found == factors_.end()) return *this;
  Affine rest = *this;
  rest.factors_.erase(index);
  return rest + value.Times(found->second);
}

std::string ToString(const Affine& affine, absl::Span<const std::string> names) {
  std::vector<std::string> terms;
  for (const auto& [index, factor] : affine.factors()) {
    terms.push_back(factor == 1 ? names[index] : absl::StrCat(factor, "·", names[index]));
  }
  if (affine.constant() != 0 || terms.empty()) terms.push_back(absl::StrCat(affine.constant()));
  return absl::StrJoin(terms, " + ");
}

}  // namespace onnx_cudnn
