// What an op is to this program: which of its forms are taken, how it is computed on the host, what
// it costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Predicted or measured.
struct Cost {
  double us = 0;
  int64_t flops = 0;
  int64_t bytes = 0;  // read and written
  const char* from = "roofline";
  // What else the time of a reference depends on.
  int64_t blas_flops =
      0;              // those of `flops` that the BLAS computes; plain loops compute the others
  int64_t calls = 1;  // of references: those of a body once per iteration
};

// An operand of a reference: dense row-major host memory. An absent optional operand has dtype
// kUndefined.
struct TensorRef {
  DType dtype = DType::kUndefined;
  absl::Span<const int64_t> dims;
  const void* data = nullptr;

  bool present() const { return dtype != DType::kUndefined; }
  int64_t elements() const { return ElementsOf(dims); }
  int64_t bytes() const { return BytesOf(dtype, elements()); }
  template <typename T>
  absl::Span<const T> as() const {
    return {static_cast<const T*>(data), static_cast<size_t>(elements())};
  }
};
struct MutableTensorRef {
  DType dtype = DType::kUndefined;
  absl::Span<const int64_t> dims;
  void* data = nullptr;

  bool present() const { return dtype != DType::kUndefined; }
  int64_t elements() const { return ElementsOf(dims); }
  int64_t bytes() const { return BytesOf(dtype, elements()); }
  template <typename T>
  absl::Span<T> as() const {
    return {static_cast<T*>(data), static_cast<size_t>(elements())};
  }
};

// in and out are parallel to the Node's inputs and outputs (trailing absent ones are cut).
// `workspace` has OpDef::workspace bytes, 64-byte aligned. Outputs do not overlap
// inputs unless OpDef::in_place allows it.
struct ReferenceArgs {
  const Node& node;
  absl::Span<const TensorRef> in;
  absl::Span<const MutableTensorRef> out;
  void* workspace;
  ThreadPool& threads;

  bool has_in(size_t i) const { return i < in.size() && in[i].present(); }
  bool has_out(size_t i) const { return i < out.size() && out[i].present(); }
};

// What integers attribute `axis` may be, by the rank r of input 0.
enum class AxisRange {
  kNone,        // the op has no such attribute, or other rules for it
  kDims,        // [-r, r - 1]: one of the dims
  kDimsAndEnd,  // [-r, r]: a boundary between dims
  kNewDim,      // [-r - 1, r]: where the output has one dim more
};

// What passes, Engines and the importer know of an op without knowing its name. A trait that is
// false promises nothing.
struct OpTraits {
  bool keeps_bytes = false;      // output 0 is input 0, with other dims perhaps
  bool moves_bytes = false;      // each output element is one of an input, or a fill value
  bool keeps_range = false;      // outputs are about as large as the inputs: what f16 holds of
                                 // these it holds of those (Div: by a constant)
  bool computes_in_f32 = false;  // on 16-bit floats too, and f16 holds the outputs: no sums
  bool anchor = false;           // Engines have the most to fuse around it
  bool cheap_to_clone = false;   // computing it once per reader costs less than writing its output
  bool has_window = false;       // strides, dilations, kernel_shape and pads: by spatial dim
  int window_weight = -1;  // the input whose last dims are the kernel_shape; -1: there is none
  AxisRange axis = AxisRange::kNone;
};

struct OpDef {
  std::string type;
  std::string domain = "";
  std::vector<int> since;  // versions of the op whose meaning this implements; the newest one last
  DTypeSet types = kFloatTypes;  // of input 0, or of output 0 where there is no input
  Support (*check)(const Node& node) =
      nullptr;  // what else the reference does not take; types and ranks are known
  absl::Status (*reference)(const ReferenceArgs& args) =
      nullptr;  // InvalidArgument: values at run time are out of range
  int64_t (*workspace)(const Node& node) = nullptr;  // bytes; nullptr: none. Shapes are static
  Cost (*cost)(const Node& node) =
      nullptr;  // of a static Node; us: beside flops and bytes (scalar_us.h). nullptr: its bytes
  bool in_place = false;  // output 0 may lie in the bytes of any input of its dtype and dims
  OpTraits traits = {};
};

// Bytes of all inputs and outputs of a static Node.
int64_t IoBytes(const Node& node);

}  // namespace onnx_cudnn
