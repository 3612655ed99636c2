#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

// A number that is linear in the lengths of a Run: constant + Σ factor · length. Lengths are ≥ 0
// and have indices.
class Affine {
 public:
  Affine(int64_t constant = 0) : constant_(constant) {}  // NOLINT: numbers are Affines
  static Affine Length(int index);

  bool is_constant() const { return factors_.empty(); }
  int64_t constant() const { return constant_; }
  const std::map<int, int64_t>& factors() const { return factors_; }  // none is 0
  bool Has(int index) const { return factors_.contains(index); }

  int64_t At(absl::Span<const int64_t> lengths) const;
  // The extremes for lengths in [0, most].
  int64_t Least(absl::Span<const int64_t> most) const;
  int64_t Most(absl::Span<const int64_t> most) const;

  Affine operator+(const Affine& other) const;
  Affine operator-(const Affine& other) const { return *this + other.Times(-1); }
  Affine Times(int64_t factor) const;
  // nullopt: both depend on lengths.
  static std::optional<Affine> Product(const Affine& a, const Affine& b);
  // nullopt: `divisor` does not divide each number of it.
  std::optional<Affine> DividedBy(int64_t divisor) const;
  // With `value` for the length `index`.
  Affine With(int index, const Affine& value) const;
  bool operator==(const Affine&) const = default;
  auto operator<=>(const Affine&) const = default;

 private:
  int64_t constant_ = 0;
  std::map<int, int64_t> factors_;
};

// "2·past + 1", with the names of the lengths.
std::string ToString(const Affine& affine, absl::Span<const std::string> names);

}  // namespace onnx_cudnn
