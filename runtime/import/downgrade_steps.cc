#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/graph/float16.h"
#include "runtime/import/downgrade_form.h"

namespace onnx_cudnn {
namespace {

Support NotConstant(std::string_view name) {
  return Support::No(absl::StrCat("takes \"", name, "\" as an attribute, here it is no constant"));
}

Support Lacks(std::string_view what) { return Support::No(absl::StrCat("has no ", what)); }

// The only element of a constant as f32; nullopt: not a constant of one float, or f32 would round
// it.
std::optional<float> FloatOf(const Value& value) {
  if (!value.is_constant() || value.constant().elements() != 1) return std::nullopt;
  const HostTensor& constant = value.constant();
  switch (value.dtype()) {
    case DType::kF32:
      return constant.data<float>()[0];
    case DType::kF16:
      return ToFloat(constant.data<Float16>()[0]);
    case DType::kF64: {
      const double wide = constant.data<double>()[0];
      const auto narrow = static_cast<float>(wide);
      return static_cast<double>(narrow) == wide ? std::optional(narrow) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Moves input `i`, if present, to attribute `name`, a float.
Support FloatToAttribute(OlderForm& form, size_t i, std::string_view name) {
  if (form.input(i) == nullptr) return Support::Yes();
  const std::optional<float> value = FloatOf(*form.input(i));
  if (!value.has_value()) return NotConstant(name);
  form.spec.attrs.Set(name, *value);
  form.DropInput(i);
  return Support::Yes();
}

Support AxesToAttribute(OlderForm& form) { return form.IntsToAttribute(1, "axes"); }

// No axes mean all of them.
Support ReducedAxesToAttribute(OlderForm& form) {
  const Value* axes = form.input(1);
  const bool are_none = axes == nullptr || (axes->is_static() && axes->elements() == 0);
  if (are_none && form.spec.attrs.Int("noop_with_empty_axes", 0) != 0) {
    return Lacks("attribute \"noop_with_empty_axes\"");
  }
  form.spec.attrs.Remove("noop_with_empty_axes");
  if (!are_none) return AxesToAttribute(form);
  form.DropInput(1);
  return Support::Yes();
}

Support BatchNormalization14(OlderForm& form) {
  if (form.spec.attrs.Int("training_mode", 0) != 0) {
    return Lacks("attribute \"training_mode\"");
  }
  form.spec.attrs.Remove("training_mode");
  return Support::Yes();
}

// An older Clip without a limit clips to ±FLT_MAX: an infinite limit does not.
Support Clip11(OlderForm& form) {
  if (Support min = FloatToAttribute(form, 1, "min"); !min) return min;
  if (Support max = FloatToAttribute(form, 2, "max"); !max) return max;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (form.input(0)->dtype() == DType::kF16) return Support::Yes();
  if (!form.spec.attrs.Has("min")) form.spec.attrs.Set("min", -kInfinity);
  if (!form.spec.attrs.Has("max")) form.spec.attrs.Set("max", kInfinity);
  return Support::Yes();
}

Support Dft20(OlderForm& form) {
  std::vector<int64_t> axis = {-2};
  if (const Value* input = form.input(2)) {
    if (!input->is_constant()) return NotConstant("axis");
    axis = ToInts(input->constant()).value_or(axis);
  }
  if (axis.size() != 1) return NotConstant("axis");
  form.spec.attrs.Set("axis", axis[0]);
  form.DropInput(2);
  return Support::Yes();
}

Support Dropout12(OlderForm& form) {
  if (const Value* training = form.input(2)) {
    const bool is_off = training->is_constant() && training->constant().elements() == 1 &&
                        training->constant().data<uint8_t>()[0] == 0;
    if (!is_off) return Lacks("input \"training_mode\"");
    form.DropInput(2);
  }
  return FloatToAttribute(form, 1, "ratio");
}

// Before 10 the mask had the type of the data.
Support Dropout10(OlderForm& form) {
  if (form.spec.outputs.size() < 2) return Support::Yes();
  return Support::No("has a \"mask\" of another type");
}

Support GridSample20(OlderForm& form) {
  const Value& input = *form.input(0);
  if (!input.type().ranked || input.rank() != 4) return Support::No("takes images of rank 4 alone");
  const std::string mode = form.spec.attrs.String("mode", "linear");
  form.spec.attrs.Set("mode", mode == "linear"  ? std::string("bilinear")
                              : mode == "cubic" ? std::string("bicubic")
                                                : mode);
  return Support::Yes();
}

Support Same(OlderForm&) { return Support::Yes(); }

Support Pad11(OlderForm& form) {
  if (Support pads = form.IntsToAttribute(1, "pads"); !pads) return pads;
  return FloatToAttribute(form, 2, "value");
}

Support Pad19(OlderForm& form) {
  return form.spec.attrs.String("mode", "") == "wrap" ? Lacks("mode \"wrap\"") : Support::Yes();
}

// allowzero has no meaning for a shape without zeros.
Support Reshape14(OlderForm& form) {
  if (form.spec.attrs.Int("allowzero", 0) == 0) return Support::Yes();
  const Value& shape = *form.input(1);
  if (!shape.is_constant()) return Lacks("attribute \"allowzero\"");
  const auto dims = shape.constant().data<int64_t>();
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    return Lacks("attribute \"allowzero\"");
  }
  form.spec.attrs.Remove("allowzero");
  return Support::Yes();
}

Support Resize19(OlderForm& form) {
  const std::string mode = form.spec.attrs.String("coordinate_transformation_mode", "");
  return mode == "half_pixel_symmetric" ? Lacks("mode \"half_pixel_symmetric\"") : Support::Yes();
}

// Before 13, roi and scales had to be present; empty where they are not used.
Support Resize13(OlderForm& form) {
  constexpr size_t kRoi = 1, kScales = 2;
  form.spec.inputs.resize(std::max<size_t>(form.spec.inputs.size(), kScales + 1), nullptr);
  for (const size_t i : {kRoi, kScales}) {
    if (form.input(i) != nullptr) continue;
    form.spec.inputs[i] = &form.constants.AddConstant(HostTensor::Of<float>(DType::kF32, {0}, {}),
                                                      i == kRoi ? "no_roi" : "no_scales");
  }
  return Support::Yes();
}

// The scales of a Resize that does what Resize-10 did: it rounds down where all enlarge, and up
// where all shrink; nullptr: it does not.
const Value* OldScales(const OlderForm& form) {
  const Attrs& attrs = form.spec.attrs;
  const Value* scales = form.input(2);
  if (form.input(3) != nullptr || scales == nullptr || !scales->is_constant()) return nullptr;
  if (attrs.String("coordinate_transformation_mode", "half_pixel") != "asymmetric") return nullptr;
  const std::string mode = attrs.String("mode", "nearest");
  if (mode == "linear") return scales;
  const auto values = scales->constant().data<float>();
  const std::string rounding = attrs.String("nearest_mode", "round_prefer_floor");
  const bool enlarges = std::all_of(values.begin(), values.end(), [](float s) { return s >= 1; });
  const bool shrinks = std::all_of(values.begin(), values.end(), [](float s) { return s <= 1; });
  const bool rounds_so = (rounding == "floor" && enlarges) || (rounding == "ceil" && shrinks);
  return mode == "nearest" && rounds_so ? scales : nullptr;
}

Support Resize11(OlderForm& form) {
  const Value* scales = OldScales(form);
  if (scales == nullptr)
    return Support::No("computes coordinates only from constant scales, in another way");
  NodeSpec& spec = form.spec;
  const std::string mode = spec.attrs.String("mode", "nearest");
  spec.inputs = {spec.inputs[0], spec.inputs[2]};
  spec.attrs = {{"mode", mode}};
  return Support::Yes();
}

// To Upsample, which enlarges.
Support Resize10(OlderForm& form) {
  const auto scales = form.input(1)->constant().data<float>();
  if (std::any_of(scales.begin(), scales.end(), [](float s) { return s < 1; })) {
    return Support::No("has only Upsample, which does not shrink");
  }
  form.spec.op = "Upsample";
  return Support::Yes();
}

Support Upsample9(OlderForm& form) {
  const auto scales = form.input(1)->constant().data<float>();
  form.spec.attrs.Set("scales", std::vector<float>(scales.begin(), scales.end()));
  form.DropInput(1);
  return Support::Yes();
}

Support RoiAlign16(OlderForm& form) {
  const std::string mode = form.spec.attrs.String("coordinate_transformation_mode", "half_pixel");
  if (mode != "output_half_pixel") {
    return Support::No(absl::StrCat("has no coordinate_transformation_mode \"", mode, "\""));
  }
  form.spec.attrs.Remove("coordinate_transformation_mode");
  return Support::Yes();
}

Support Scatter11(OlderForm& form) {
  form.spec.op = "Scatter";
  return Support::Yes();
}

Support Reduction18(OlderForm& form) {
  const std::string reduction = form.spec.attrs.String("reduction", "none");
  const bool is_later = reduction == "min" || reduction == "max";
  return is_later ? Lacks(absl::StrCat("reduction \"", reduction, "\"")) : Support::Yes();
}

// Steps were added together with inputs instead of attributes.
Support Slice10(OlderForm& form) {
  if (const Value* steps = form.input(4)) {
    if (!steps->is_constant()) return Lacks("input \"steps\"");
    const std::vector<int64_t> values = ToInts(steps->constant()).value_or(std::vector<int64_t>{0});
    if (std::any_of(values.begin(), values.end(), [](int64_t s) { return s != 1; })) {
      return Lacks("input \"steps\"");
    }
    form.DropInput(4);
  }
  for (const auto& [i, name] : {std::pair(3, "axes"), {2, "ends"}, {1, "starts"}}) {
    if (Support moved = form.IntsToAttribute(i, name); !moved) return moved;
  }
  return Support::Yes();
}

// Softmax and its kin treated their input as a matrix whose columns start at `axis`, by default 1.
Support Softmax13(OlderForm& form) {
  const Type& type = form.input(0)->type();
  if (!type.ranked) return Support::No("needs an input of known rank");
  const int64_t rank = form.input(0)->rank();
  int64_t axis = form.spec.attrs.Int("axis", -1);
  if (axis < 0) axis += rank;
  for (int64_t i = axis + 1; i < rank; ++i) {
    if (type.dims[i].value != 1) return Support::No("takes all axes from \"axis\" on together");
  }
  form.spec.attrs.Set("axis", axis);
  return Support::Yes();
}

// Without num_outputs, all parts are equal.
Support Split18(OlderForm& form) {
  const int64_t* count = form.spec.attrs.Get<int64_t>("num_outputs");
  if (count == nullptr) return Support::Yes();
  const Value& input = *form.input(0);
  int64_t axis = form.spec.attrs.Int("axis", 0);
  if (input.type().ranked && axis < 0) axis += input.rank();
  const int64_t extent =
      input.type().ranked && axis < input.rank() ? input.dim(static_cast<int>(axis)) : -1;
  if (*count < 1 || extent < 0 || extent % *count != 0) {
    return Support::No("needs to know that the parts are equal");
  }
  form.spec.attrs.Remove("num_outputs");
  return Support::Yes();
}

Support Split13(OlderForm& form) { return form.IntsToAttribute(1, "split"); }

Support TopK10(OlderForm& form) {
  const Value& k = *form.input(1);
  if (!k.is_constant() || k.constant().elements() != 1) return NotConstant("k");
  form.spec.attrs.Set("k", k.constant().data<int64_t>()[0]);
  form.DropInput(1);
  return Support::Yes();
}

// Min, Max, Mean and Sum broadcast since 8.
Support Broadcast8(OlderForm& form) {
  const Type& first = form.input(0)->type();
  const bool are_equal =
      std::all_of(form.spec.inputs.begin(), form.spec.inputs.end(),
                  [&](const Value* v) { return v->is_static() && v->type().dims == first.dims; });
  return are_equal ? Support::Yes() : Support::No("does not broadcast");
}

// A scale per channel came with the attribute "axis".
Support Scale13(OlderForm& form) {
  const Type& scale = form.input(1)->type();
  if (!scale.ranked || !scale.dims.empty()) return Support::No("takes one scale for all elements");
  form.spec.attrs.Remove("axis");
  return Support::Yes();
}

constexpr DowngradeRow kRows[] = {
    {"BatchNormalization", 9, Same},
    {"BatchNormalization", 14, BatchNormalization14},
    {"Clip", 11, Clip11},
    {"DFT", 20, Dft20},
    {"DequantizeLinear", 13, Scale13},
    {"Dropout", 10, Dropout10},
    {"Dropout", 12, Dropout12},
    {"GridSample", 20, GridSample20},
    {"Hardmax", 13, Softmax13},
    {"LogSoftmax", 13, Softmax13},
    {"Max", 8, Broadcast8},
    {"Mean", 8, Broadcast8},
    {"Min", 8, Broadcast8},
    {"Pad", 11, Pad11},
    {"Pad", 19, Pad19},
    {"QuantizeLinear", 13, Scale13},
    {"ReduceL1", 18, ReducedAxesToAttribute},
    {"ReduceL2", 18, ReducedAxesToAttribute},
    {"ReduceLogSum", 18, ReducedAxesToAttribute},
    {"ReduceLogSum", 28, Same},
    {"ReduceLogSumExp", 18, ReducedAxesToAttribute},
    {"ReduceLogSumExp", 28, Same},
    {"ReduceMax", 18, ReducedAxesToAttribute},
    {"ReduceMean", 18, ReducedAxesToAttribute},
    {"ReduceMin", 18, ReducedAxesToAttribute},
    {"ReduceProd", 18, ReducedAxesToAttribute},
    {"ReduceSum", 13, ReducedAxesToAttribute},
    {"ReduceSumSquare", 18, ReducedAxesToAttribute},
    {"Reshape", 14, Reshape14},
    {"Resize", 10, Resize10},
    {"Resize", 11, Resize11},
    {"Resize", 13, Resize13},
    {"Resize", 19, Resize19},
    {"Resize", 28, Same},
    {"RoiAlign", 16, RoiAlign16},
    {"ScatterElements", 11, Scatter11},
    {"ScatterElements", 18, Reduction18},
    {"ScatterND", 18, Reduction18},
    {"Slice", 10, Slice10},
    {"Softmax", 13, Softmax13},
    {"Split", 13, Split13},
    {"Split", 18, Split18},
    {"Squeeze", 13, AxesToAttribute},
    {"Sum", 8, Broadcast8},
    {"TopK", 10, TopK10},
    {"Unsqueeze", 13, AxesToAttribute},
    {"Upsample", 9, Upsample9},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const DowngradeRow& a, const DowngradeRow& b) {
                               return a.op != b.op ? a.op < b.op : a.version < b.version;
                             }));

}  // namespace

void OlderForm::DropInput(size_t i) {
  if (i < spec.inputs.size()) spec.inputs[i] = nullptr;
  while (!spec.inputs.empty() && spec.inputs.back() == nullptr) spec.inputs.pop_back();
}

Support OlderForm::IntsToAttribute(size_t i, std::string_view name) {
  if (input(i) == nullptr) return Support::Yes();
  if (!input(i)->is_constant()) return NotConstant(name);
  auto values = ToInts(input(i)->constant());
  if (!values.ok()) return NotConstant(name);
  spec.attrs.Set(name, *std::move(values));
  DropInput(i);
  return Support::Yes();
}

absl::Span<const DowngradeRow> DowngradeRows() { return kRows; }

}  // namespace onnx_cudnn
