#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/data_dependent.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostCompared = int64_t{1} << 27;  // keys of up to 8 bytes in the workspace
constexpr int64_t kLeastSorted = 2048;               // pairs, a power of two

Support TakesSlices(const Unit& core) {
  const AxisView view = SlicesOfUnique(core.node());
  const int64_t compared = view.outer * view.inner > 1 ? core.node().input(0).elements() : 0;
  if (compared <= kMostCompared) return Support::Yes();
  return Support::No(absl::StrCat("it compares slices of more than ", kMostCompared, " elements"));
}

// Each pass of the sort reads and writes pairs of a key and an index: first tiles are sorted, then
// each doubling takes one pass more than the one before. A pass compares whole slices at worst.
double UniqueUs(const Unit& unit, const Cost& cost, const Target& target) {
  constexpr int kOtherLaunches = 7;  // keys, pairs; flags, twice two of non_zero; numbers, slices
  const AxisView view = SlicesOfUnique(unit.node());
  const int64_t key_bytes = BitsOf(unit.node().input(0).dtype()) == 64 ? 8 : 4;
  int64_t sorted = kLeastSorted;
  int passes = 1;
  for (int of_doubling = 2; sorted < view.extent; sorted *= 2) passes += of_doubling++;
  const int64_t length = view.outer * view.inner;
  const int64_t slice_bytes = length > 1 ? length * key_bytes : 0;
  const int64_t pass_bytes = 2 * sorted * 2 * key_bytes + view.extent * slice_bytes;
  const DeviceInfo& info = target.info;
  return static_cast<double>(passes * pass_bytes + cost.bytes) / info.bytes_per_us +
         (passes + kOtherLaunches) * (info.launch_us + info.dependent_kernel_us);
}

}  // namespace

// BoundedUnique of numbers, row-major: the slices are sorted by their elements, equal ones by their
// index; the first ones of equal slices are counted and listed as non_zero does it.
Kernel UniqueKernel() {
  return {.ops = {"BoundedUnique"}, .types = kFixedSizeTypes, .takes = TakesSlices, .us = UniqueUs};
}

}  // namespace onnx_cudnn
