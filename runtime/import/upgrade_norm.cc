#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

bool HasOutput(const NodeSpec& spec, size_t i) {
  return i < spec.outputs.size() && !spec.outputs[i].empty();
}

// Converts to Dropout-12, whose mask is bool; before 10 it had the type of the data.
absl::Status ToDropout12(Form& form, bool training) {
  NodeSpec& spec = form.spec;
  if (const float* ratio = spec.attrs.Get<float>("ratio")) {
    form.SetInput(1, &form.Scalar(*ratio));
    spec.attrs.Remove("ratio");
  }
  if (training) {
    form.SetInput(2, &form.graph.AddConstant(HostTensor::Of<bool>(DType::kBool, {}, {true})));
  }
  spec.opset = 12;
  if (form.file_opset >= 10 || !HasOutput(spec, 1)) return absl::OkStatus();
  if (spec.inputs[0]->dtype() == DType::kUndefined) {
    return form.Unimplemented("output \"mask\" needs an input of known type");
  }
  const int64_t dtype = static_cast<int64_t>(spec.inputs[0]->dtype());
  const std::string mask_name = std::exchange(spec.outputs[1], std::string("*"));
  ASSIGN_OR_RETURN(std::vector<Value*> values,
                   AppendNode(form.graph, form.inference, std::move(spec)));
  ASSIGN_OR_RETURN(
      values[1],
      form.Append(
          {.op = "Cast", .inputs = {values[1]}, .attrs = {{"to", dtype}}, .outputs = {mask_name}}));
  form.finished = std::move(values);
  return absl::OkStatus();
}

// Expands one number per group to one per channel.
absl::StatusOr<Value*> GroupsToChannels(Form& form, Value* groups, int64_t count,
                                        int64_t channels) {
  ASSIGN_OR_RETURN(Value * column,
                   form.Append({.op = "Unsqueeze", .inputs = {groups, &form.Ints({1})}}));
  ASSIGN_OR_RETURN(
      Value * rows,
      form.Append({.op = "Expand", .inputs = {column, &form.Ints({count, channels / count})}}));
  return form.Append({.op = "Reshape", .inputs = {rows, &form.Ints({channels})}});
}

}  // namespace

// Attribute "training_mode" belongs to the newest form; no intermediate step reads it.
absl::Status UpgradeBatchNormalization7(Form& form) {
  if (form.spec.attrs.Int("is_test", 0) == 0) form.spec.attrs.Set("training_mode", int64_t{1});
  form.spec.attrs.Remove("is_test");
  return absl::OkStatus();
}

absl::Status UpgradeBatchNormalization9(Form& form) {
  const Type& input = form.input(0)->type();
  if (form.spec.attrs.Int("spatial", 1) == 0 && (!input.ranked || input.dims.size() != 2)) {
    return form.Unimplemented(
        "attribute \"spatial\" = 0 is implemented for inputs of rank 2 alone");
  }
  form.spec.attrs.Remove("spatial");
  return absl::OkStatus();
}

// A node with more than one output was a training node.
absl::Status UpgradeBatchNormalization14(Form& form) {
  if (HasOutput(form.spec, 3) || HasOutput(form.spec, 4)) {
    return form.Unimplemented("outputs \"saved_mean\" and \"saved_var\" have no newer form");
  }
  std::vector<std::string>& outputs = form.spec.outputs;
  outputs.resize(std::min<size_t>(outputs.size(), 3));
  if (HasOutput(form.spec, 1) || HasOutput(form.spec, 2)) {
    form.spec.attrs.Set("training_mode", int64_t{1});
  }
  if (form.spec.attrs.Has("training_mode")) {  // the newest form then requires all three outputs
    outputs.resize(3);
    std::replace(outputs.begin(), outputs.end(), std::string(), std::string("*"));
  }
  return absl::OkStatus();
}

absl::Status UpgradeDropout7(Form& form) {
  const bool training = form.spec.attrs.Int("is_test", 0) == 0;
  form.spec.attrs.Remove("is_test");
  return training ? ToDropout12(form, training) : absl::OkStatus();
}

absl::Status UpgradeDropout12(Form& form) { return ToDropout12(form, /*training=*/false); }

// Scale and bias had one number per group.
absl::Status UpgradeGroupNormalization21(Form& form) {
  const int64_t groups = form.spec.attrs.Int("num_groups", 1);
  const Type& input = form.input(0)->type();
  const int64_t channels = input.ranked && input.dims.size() > 1 ? form.input(0)->dim(1) : -1;
  if (channels < 0)
    return form.Unimplemented("attribute \"num_groups\" needs a known channel count");
  if (groups < 1 || channels % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_groups ", groups, " does not divide ", channels, " channels"));
  }
  for (size_t i : {1, 2}) {
    ASSIGN_OR_RETURN(Value * value, GroupsToChannels(form, form.input(i), groups, channels));
    form.SetInput(i, value);
  }
  return absl::OkStatus();
}

// Softmax, LogSoftmax and Hardmax treated their input as a matrix whose columns start at `axis`.
absl::Status UpgradeSoftmax13(Form& form) {
  int64_t axis = form.spec.attrs.Int("axis", 1);
  Value& input = *form.input(0);
  if (input.type().ranked) {
    const int64_t rank = input.rank();
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is outside rank ", rank));
    }
    if (axis < 0) axis += rank;
    const auto& dims = input.type().dims;
    if (std::all_of(dims.begin() + axis + 1, dims.end(),
                    [](const Dim& d) { return d.value == 1; })) {
      form.spec.attrs.Set("axis", axis);
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Value * matrix,
                   form.Append({.op = "Flatten", .inputs = {&input}, .attrs = {{"axis", axis}}}));
  ASSIGN_OR_RETURN(
      Value * result,
      form.Append({.op = form.spec.op, .inputs = {matrix}, .attrs = {{"axis", int64_t{1}}}}));
  Value* shape = nullptr;
  if (input.is_static()) {
    shape = &form.Ints(input.dims());
  } else {
    ASSIGN_OR_RETURN(shape, form.Append({.op = "Shape", .inputs = {&input}}));
  }
  // An extent of 0 is that of the input, not a request to copy a dim of `result`.
  return form.Finish(
      {.op = "Reshape", .inputs = {result, shape}, .attrs = {{"allowzero", int64_t{1}}}});
}

}  // namespace onnx_cudnn
