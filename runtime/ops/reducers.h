// The steps of each reduction. A State starts as Start(), receives elements with Add and other
// States with Merge; Finish returns the result for n elements. Floats are summed in double;
// integers wrap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/ops/dispatch.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {

template <typename T>
struct SumReducer {
  using State = AccumulatorOf<T>;
  static State Start() { return 0; }
  static State Add(State s, T x) { return s + static_cast<State>(x); }
  static State Merge(State a, State b) { return a + b; }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};

template <typename T>
struct MeanReducer : SumReducer<T> {
  using State = typename SumReducer<T>::State;
  static T Finish(State s, int64_t n) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>(static_cast<Wide>(static_cast<T>(s)) / static_cast<Wide>(n));
    } else {
      return static_cast<T>(s / static_cast<double>(n));
    }
  }
};

template <typename T>
struct ProductReducer {
  using State = AccumulatorOf<T>;
  static State Start() { return 1; }
  static State Add(State s, T x) { return s * static_cast<State>(x); }
  static State Merge(State a, State b) { return a * b; }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};

// NaN propagates.
template <typename T>
struct MaxReducer {
  using State = T;
  static State Start() { return LowestOf<T>(); }
  static State Add(State s, T x) { return x > s || x != x ? x : s; }
  static State Merge(State a, State b) { return Add(a, b); }
  static T Finish(State s, int64_t) { return s; }
};

template <typename T>
struct MinReducer {
  using State = T;
  static State Start() { return HighestOf<T>(); }
  static State Add(State s, T x) { return x < s || x != x ? x : s; }
  static State Merge(State a, State b) { return Add(a, b); }
  static T Finish(State s, int64_t) { return s; }
};

template <typename T>
struct L1Reducer : SumReducer<T> {
  using State = typename SumReducer<T>::State;
  static State Add(State s, T x) {
    return x < 0 ? s - static_cast<State>(x) : s + static_cast<State>(x);
  }
};

template <typename T>
struct SumSquareReducer : SumReducer<T> {
  using State = typename SumReducer<T>::State;
  static State Add(State s, T x) { return s + static_cast<State>(x) * static_cast<State>(x); }
};

template <typename T>
struct L2Reducer {
  using State = double;
  static State Start() { return 0; }
  static State Add(State s, T x) { return s + static_cast<double>(x) * static_cast<double>(x); }
  static State Merge(State a, State b) { return a + b; }
  static T Finish(State s, int64_t) { return Narrow<T>(std::sqrt(s)); }
};

template <typename T>
struct LogSumReducer : SumReducer<T> {
  static T Finish(double s, int64_t) { return static_cast<T>(std::log(s)); }
};

// log Σ exp(x) as max + log Σ exp(x - max), both parts kept up to date.
template <typename T>
struct LogSumExpReducer {
  struct State {
    double max, sum;  // Σ exp(x - max)
  };
  static State Start() { return {-std::numeric_limits<double>::infinity(), 0}; }
  static State Add(State s, T x) { return Merge(s, {static_cast<double>(x), 1}); }
  static State Merge(State a, State b) {
    if (a.max != a.max || b.max != b.max) return {std::numeric_limits<double>::quiet_NaN(), 1};
    const State& low = a.max < b.max ? a : b;
    const State& high = a.max < b.max ? b : a;
    if (std::isinf(high.max)) return high;  // -inf adds nothing; with +inf nothing else matters
    return {high.max, high.sum + low.sum * std::exp(low.max - high.max)};
  }
  static T Finish(State s, int64_t) {
    return static_cast<T>(std::isinf(s.max) ? s.max : s.max + std::log(s.sum));
  }
};

}  // namespace onnx_cudnn
