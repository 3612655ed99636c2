// Inputs of a model from the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/taken_dims.h"
#include "tools/common/image_input.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {

// name=text; without "=" the name is empty and refers to the model's only input.
struct NamedText {
  std::string name;
  std::string text;
};
NamedText SplitNamedText(std::string_view argument);
// Adds nothing for "", the default of a flag.
void Append(std::string_view argument, std::vector<NamedText>& arguments);

// The same for --shape, where "name:1x3" is taken too.
void AppendShape(std::string_view argument, std::vector<NamedText>& arguments);

// Parses "1x3x224x224" or "1,3,224,224"; "" for a scalar. InvalidArgument for other forms.
absl::StatusOr<Dims> ParseDims(std::string_view text);

struct InputRequest {
  std::vector<NamedText> sources;  // a .npy, .png, .jpg or .jpeg file, "8,-1", "random" or
                                   // "zeros"
  std::vector<NamedText> shapes;   // of inputs; with the name of a symbolic dim, its number
  std::optional<int64_t> batch;    // extent 0 where neither the model nor a shape gives it
  NamedTensors given;              // tensors by input name, used for inputs without a source
  ImagePreset image;
  bool image_was_asked = false;  // otherwise an image for a u8 input is used raw
  uint64_t seed = 0;
};

// The sources and shapes of this process's --input and --shape: Abseil keeps only the last value of
// a flag that is given several times.
InputRequest& GivenInputs();

struct ModelInput {
  std::string name;
  HostTensor tensor;
  std::string source;  // for messages: "photo.jpg, 640 x 427, preset imagenet", "random, seed 0"
  std::string taken;   // as in FilledDims; `source` ends with it
};

// The dims of each of `infos`, from `shapes`, otherwise from DimFiller.
//   shapes  of inputs; with the name of a symbolic dim, its number
//   errors  InvalidArgument: an unknown or repeated name, a shape that does not fit
absl::StatusOr<std::map<std::string, FilledDims, std::less<>>> ShapesOf(
    const std::vector<ValueInfo>& infos, const std::vector<NamedText>& shapes);

// `status`, an error about inputs whose dims were not given, with the dims that were assumed.
//   taken  as in FilledDims, by input name
absl::Status WithTakenDims(const absl::Status& status,
                           const std::map<std::string, std::string, std::less<>>& taken);

// One tensor for each of `infos`, in order; random numbers if there is no source. Dims that are not
// numbers come from the given shape, otherwise from files, otherwise from DimFiller; `source` then
// mentions it.
//   errors  InvalidArgument: an unknown or repeated name; a file that does not fit. Those of the
//           files
absl::StatusOr<std::vector<ModelInput>> MakeInputs(const std::vector<ValueInfo>& infos,
                                                   const InputRequest& request);

// The tensors from `request.sources`, by input name. Errors as above.
absl::StatusOr<NamedTensors> SaidInputs(const std::vector<ValueInfo>& infos,
                                        const InputRequest& request);

// A view of `tensor` for a Session.
TensorView ViewOf(const HostTensor& tensor);
// A tensor from a Session: shares the bytes; strings are copied.
HostTensor HostTensorOf(const Tensor& tensor);

}  // namespace onnx_cudnn
