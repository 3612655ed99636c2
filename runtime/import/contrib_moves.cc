// Ops of com.microsoft that ONNX took over.
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {

std::vector<int64_t> ChannelsFirst(int rank) {
  std::vector<int64_t> perm = {0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  return perm;
}

std::vector<int64_t> ChannelsLast(int rank) {
  std::vector<int64_t> perm = {0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

void ExpandExpandDims(Expansion& x) {
  Value& axis = x.Cast(x.Reshape(x.Scalar(x.in(1)), {1}), DType::kI64);
  x.Result(0, "Unsqueeze", {&x.in(0), &axis});
}

void ExpandGatherND(Expansion& x) {
  x.Result(0, "GatherND", {&x.in(0), &x.Cast(x.in(1), DType::kI64)});
}

// pads may be [1, 2 · rank], value [1].
void ExpandPad(Expansion& x) {
  std::vector<Value*> inputs = {&x.in(0), &x.Reshape(x.in(1), {-1})};
  if (Value* value = x.Optional(2)) inputs.push_back(&x.Scalar(*value));
  x.Result(0, "Pad", std::move(inputs), x.Take({"mode"}));
}

// Inputs may be [1].
void ExpandRange(Expansion& x) {
  Value &start = x.Scalar(x.in(0)), &limit = x.Scalar(x.in(1));
  Value* delta = x.Optional(2);
  Value& step = delta == nullptr ? x.Number(1, start.dtype()) : x.Scalar(*delta);
  x.Result(0, "Range", {&start, &limit, &step});
}

void ExpandTrilu(Expansion& x) {
  std::vector<Value*> inputs = {&x.in(0)};
  if (Value* k = x.Optional(1)) inputs.push_back(k);
  x.Result(0, "Trilu", std::move(inputs), x.Take({"upper"}));
}

}  // namespace onnx_cudnn
