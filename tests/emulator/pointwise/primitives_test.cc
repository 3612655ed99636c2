// Every primitive in every executor of element-wise work, against its reference on the host: a new
// row of primitives.inc is tested without changes here. Includes translated device code, see
// tests/CMakeLists.txt.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "runtime/ops/pointwise_kernels.h"

// Its macros must come before device code and after the host's headers.
#include "tests/emulator/device.h"

#include "runtime/kernels/cuda/common/activation.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"
#include "runtime/kernels/cuda/pointwise/epilogue_program.cuh"

namespace onnx_cudnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kFloats[] = {-3.5F, -2,   -1, -0.5F, -0.0F, 0,         0.25F,      0.5F,
                             1,     2.0F, 3,  7.5F,  100,   kInfinity, -kInfinity, NAN};
constexpr int64_t kIntegers[] = {INT64_MIN, -64, -7, -1, 0, 1, 2, 3, 10, 63, 64, INT64_MAX};

template <Primitive primitive, typename T>
T Reference(T a, T b, T c) {
  T result;
  RunPrimitive<T>(primitive, {&a, &b, &c}, &result, 1);
  return result;
}

void ExpectNear(double found, double expected, double tolerance) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << found;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(found, expected);
  } else {
    EXPECT_NEAR(found, expected, tolerance * std::max(1.0, std::abs(expected)));
  }
}

template <Primitive primitive>
void CheckFloats(float a, float b) {
  constexpr double kClose = 2e-6, kHalf = 1e-3;
  constexpr int kArity = ArityOf(primitive);
  const float expected = Reference<primitive, float>(a, b, 2);
  ExpectNear(primitives::Function<primitive, float>()(a, b, 2), expected, kClose);
  ExpectNear(primitives::Function<primitive, double>()(a, b, 2),
             Reference<primitive, double>(a, b, 2), kClose);
  if constexpr (kArity < 3 && IsInEpilogues(primitive)) {
    const float found = ApplyCode<kArity>(CodeOf<EpilogueCode>(primitive), a, b);
    ExpectNear(found, expected, kClose);
    const bool is_remainder =
        primitive == Primitive::kFloorMod || primitive == Primitive::kTruncMod;
    if (is_remainder) EXPECT_EQ(std::signbit(found), std::signbit(expected));  // of zeros too
  }
  if constexpr (IsComputedEverywhere(primitive)) {
    constexpr PointwiseCode kCode = CodeOf<PointwiseCode>(primitive);
    const auto of_cells = [&](auto cells) {
      using A = decltype(cells);
      typename A::Cell held[1] = {A::Of(a)};
      if constexpr (kArity == 1) {
        Change<A>(kCode, 0, held);
      } else {
        Combine<A>(kCode, held, [&](int) { return A::Of(b); });
      }
      return held[0];
    };
    ExpectNear(of_cells(FloatCells<float>()), expected, kClose);
    float pair[2];
    FloatCells<Half>::Read(of_cells(PairCells<Half>()), pair);
    for (const float element : pair) ExpectNear(element, Rounded<Half>(expected), kHalf);
  }
  if constexpr (IsComputedEverywhere(primitive) && kArity == 1) {
    float numbers[1] = {a};
    Activate<float>({CodeOf<Activation::Kind>(primitive)}, numbers);
    ExpectNear(numbers[0], expected, kClose);
  }
}

template <Primitive primitive, typename T>
void CheckIntegers(T a, T b) {
  EXPECT_EQ((primitives::Function<primitive, T>()(a, b, 2)), (Reference<primitive, T>(a, b, 2)));
}

template <Primitive primitive>
void Check() {
  constexpr PrimitiveTraits kTraits = TraitsOf(primitive);
  SCOPED_TRACE(std::string(kTraits.name));
  if constexpr (IsDefinedOn<float>(kTraits.types)) {
    for (const float a : kFloats) {
      for (const float b : kFloats) CheckFloats<primitive>(a, b);
    }
  }
  if constexpr (IsDefinedOn<int64_t>(kTraits.types)) {
    for (const int64_t a : kIntegers) {
      for (const int64_t b : kIntegers) {
        CheckIntegers<primitive, int64_t>(a, b);
        CheckIntegers<primitive, uint64_t>(a, b);
      }
    }
  }
}

TEST(PrimitivesTest, EachOnEveryExecutor) {
#define PRIMITIVE(name, ...) Check<Primitive::k##name>();
#include "runtime/ops/primitives.inc"
}

}  // namespace
}  // namespace onnx_cudnn
