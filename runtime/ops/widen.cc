#include "runtime/ops/widen.h"

#include <vector>

#include "runtime/graph/float16.h"
#include "runtime/ops/dispatch.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kConvertGrain = 16384;

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

int64_t CopyBytes(int64_t elements) {
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(float));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename Narrow>
void Widen(ThreadPool& threads, const TensorRef& from, float* to) {
  const Narrow* data = from.as<Narrow>().data();
  threads.ParallelFor(from.elements(), kConvertGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = ToFloat(data[i]);
  });
}

template <typename Narrow, Narrow (*kRound)(float)>
void Round(ThreadPool& threads, const float* from, const MutableTensorRef& to) {
  Narrow* data = to.as<Narrow>().data();
  threads.ParallelFor(to.elements(), kConvertGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = kRound(from[i]);
  });
}

// Allocates f32 copies consecutively in the workspace.
class Copies {
 public:
  explicit Copies(void* workspace) : next_(static_cast<char*>(workspace)) {}
  float* Take(int64_t elements) {
    float* copy = reinterpret_cast<float*>(next_);
    next_ += CopyBytes(elements);
    return copy;
  }
  void* rest() const { return next_; }

 private:
  char* next_;
};

}  // namespace

DType WideType(DType dtype) { return IsNarrow(dtype) ? DType::kF32 : dtype; }

int64_t WidenedBytes(const Node& node) {
  int64_t bytes = 0;
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v != nullptr && IsNarrow(v->dtype())) bytes += CopyBytes(v->elements());
    }
  }
  return bytes;
}

absl::Status RunWidened(const ReferenceArgs& args, Reference reference) {
  std::vector<TensorRef> in(args.in.begin(), args.in.end());
  std::vector<MutableTensorRef> out(args.out.begin(), args.out.end());
  Copies copies(args.workspace);
  for (TensorRef& ref : in) {
    if (!IsNarrow(ref.dtype)) continue;
    float* copy = copies.Take(ref.elements());
    if (ref.dtype == DType::kF16) Widen<Float16>(args.threads, ref, copy);
    if (ref.dtype == DType::kBF16) Widen<BFloat16>(args.threads, ref, copy);
    ref = {DType::kF32, ref.dims, copy};
  }
  for (MutableTensorRef& ref : out) {
    if (IsNarrow(ref.dtype)) ref = {DType::kF32, ref.dims, copies.Take(ref.elements())};
  }
  absl::Status status = reference({args.node, in, out, copies.rest(), args.threads});
  if (!status.ok()) return status;
  for (size_t i = 0; i < out.size(); ++i) {
    const float* copy = static_cast<const float*>(out[i].data);
    if (args.out[i].dtype == DType::kF16)
      Round<Float16, ToFloat16>(args.threads, copy, args.out[i]);
    if (args.out[i].dtype == DType::kBF16)
      Round<BFloat16, ToBFloat16>(args.threads, copy, args.out[i]);
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
