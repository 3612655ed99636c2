// The definition of an op: which forms are supported, its reference on the host, its cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Predicted or measured cost.
struct Cost {
  double us = 0;
  int64_t flops = 0;
  int64_t bytes = 0;  // read and written
  const char* from = "roofline";
  // Further inputs for the time of a reference.
  int64_t blas_flops = 0;  // share of `flops` that the BLAS computes; plain loops compute the rest
  int64_t calls = 1;       // of references; a body counts once per iteration
};

// An operand of a reference: dense, row-major, in host memory. An absent optional operand has dtype
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
// `workspace` has OpDef::workspace bytes, 64-byte aligned. Outputs do not overlap inputs unless
// OpDef::in_place allows it.
struct ReferenceArgs {
  const Node& node;
  absl::Span<const TensorRef> in;
  absl::Span<const MutableTensorRef> out;
  void* workspace;
  ThreadPool& threads;

  bool has_in(size_t i) const { return i < in.size() && in[i].present(); }
  bool has_out(size_t i) const { return i < out.size() && out[i].present(); }
};

// Valid values of the integer attribute `axis`, for rank r of input 0.
enum class AxisRange {
  kNone,        // the op has no such attribute, or another rule for it
  kDims,        // [-r, r - 1]: a dim
  kDimsAndEnd,  // [-r, r]: a boundary between dims
  kNewDim,      // [-r - 1, r]: where the output has one dim more
};

// Properties of an op by which passes, Engines and the importer treat it without knowing its name.
// A trait that is false promises nothing.
struct OpTraits {
  bool keeps_bytes = false;      // output 0 is input 0, possibly with other dims
  bool moves_bytes = false;      // each output element is an input element or a fill value
  bool keeps_range = false;      // outputs are about as large as the inputs: f16 represents
                                 // them if it represents the inputs (Div: by a constant)
  bool computes_in_f32 = false;  // even on 16-bit floats, and f16 represents the outputs: no sums
  bool updates = false;          // its only output is input 0 with some elements replaced, and may
                                 // be in the same memory
  bool anchor = false;           // Engines fuse around it first
  bool cheap_to_clone = false;   // computing it once per reader costs less than writing its output
  // Has strides, dilations, kernel_shape and pads, one entry per spatial dim.
  bool has_window = false;
  int window_weight = -1;  // the input whose last dims are the kernel_shape; -1: none
  AxisRange axis = AxisRange::kNone;
};

struct OpDef {
  // Of the op's line in ops.inc.
  std::string type = "";
  std::string domain = "";
  std::vector<int> since = {};   // opset versions whose definition this implements; newest last
  DTypeSet types = kFloatTypes;  // of input 0, or of output 0 if there is no input
  Support (*check)(const Node& node) =
      nullptr;  // further checks of the reference; types and ranks are known
  absl::Status (*reference)(const ReferenceArgs& args) =
      nullptr;  // InvalidArgument: values at run time are out of range
  // Instead of `reference`, for an op whose output shapes depend on elements of its inputs, or that
  // takes or gives strings: the outputs of a Node whose inputs are constants, undefined where it
  // has none. Errors as for `reference`; ResourceExhausted: too large.
  absl::StatusOr<std::vector<HostTensor>> (*evaluate)(const Node& node) = nullptr;
  // Bytes; nullptr: none. Called with static shapes.
  int64_t (*workspace)(const Node& node) = nullptr;
  Cost (*cost)(const Node& node) = nullptr;  // of a static Node; us: on top of flops and bytes
                                             // (scalar_us.h). nullptr: bytes only
  bool in_place = false;  // output 0 may overwrite any input of its dtype and dims
  OpTraits traits = {};
};

// Bytes of all inputs and outputs of a static Node.
int64_t IoBytes(const Node& node);

}  // namespace onnx_cudnn
