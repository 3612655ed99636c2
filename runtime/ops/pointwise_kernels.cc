#include "runtime/ops/pointwise_kernels.h"

#include <cmath>
#include <utility>

#include "absl/log/log.h"
#include "runtime/ops/float_math.h"
#include "runtime/ops/primitive_math.h"

namespace onnx_cudnn {
namespace primitives {
namespace {

template <typename T>
T Power(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return b == T{2} ? a * a : std::pow(a, b);
  } else {
    return IntegerPower(a, b);
  }
}

template <typename T>
T Maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
T Minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

template <typename T>
T Sigmoid(T a) {
  return T{1} / (T{1} + std::exp(-a));
}

// primitive(a, …).
template <Primitive primitive, typename T>
struct Function {
  T operator()(T a, [[maybe_unused]] T b = {}, [[maybe_unused]] T c = {}) const {
#define PRIMITIVE(name, arity, types, cost, executors, expression, cudnn_mode) \
  if constexpr (primitive == Primitive::k##name) return expression;
#include "runtime/ops/primitives.inc"
  }
};

// Outputs may overwrite an argument at the same index; ivdep tells the compiler that it may
// vectorize.
template <int arity, typename T, typename F>
void Map(const std::array<const T*, 3>& args, T* out, int64_t n, F f) {
  const T *a = args[0], *b = args[1], *c = args[2];
  if constexpr (arity == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
  } else if constexpr (arity == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i], c[i]);
  }
}

// Primitives with a vectorized loop over x to y.
constexpr std::pair<Primitive, void (*)(const float* x, float* y, int64_t n)> kLoops[] = {
    {Primitive::kExp, ExpOf},   {Primitive::kSigmoid, SigmoidOf}, {Primitive::kTanh, TanhOf},
    {Primitive::kErf, ErfOf},   {Primitive::kSqrt, SqrtOf},       {Primitive::kFloor, FloorOf},
    {Primitive::kCeil, CeilOf}, {Primitive::kRound, RoundOf},
};

// Returns false if there is none.
bool RunVectorized(Primitive primitive, const float* x, float* y, int64_t n) {
  for (const auto& [of, loop] : kLoops) {
    if (primitive == of) return loop(x, y, n), true;
  }
  return false;
}

template <typename T>
void Run(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  switch (primitive) {
#define PRIMITIVE(name, arity, types, ...)                                \
  case Primitive::k##name:                                                \
    if constexpr (IsDefinedOn<T>(PrimitiveTypes::types)) {                \
      return Map<arity>(args, out, n, Function<Primitive::k##name, T>()); \
    }                                                                     \
    break;
#include "runtime/ops/primitives.inc"
    default:
      break;
  }
  LOG(FATAL) << TraitsOf(primitive).name << " on a type it is not defined on";
}

}  // namespace
}  // namespace primitives

template <typename T>
void RunPrimitive(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (primitives::RunVectorized(primitive, args[0], out, n)) return;
  }
  primitives::Run(primitive, args, out, n);
}
template void RunPrimitive(Primitive, const std::array<const float*, 3>&, float*, int64_t);
template void RunPrimitive(Primitive, const std::array<const double*, 3>&, double*, int64_t);
template void RunPrimitive(Primitive, const std::array<const int64_t*, 3>&, int64_t*, int64_t);
template void RunPrimitive(Primitive, const std::array<const uint64_t*, 3>&, uint64_t*, int64_t);

}  // namespace onnx_cudnn
