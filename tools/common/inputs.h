// Inputs of a model from what a command line says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/image_input.h"
#include "tools/common/npy.h"
#include "tools/common/taken_dims.h"

namespace onnx_cudnn {

// name=text; without a "=" the name is empty and means the model's only input.
struct NamedText {
  std::string name;
  std::string text;
};
NamedText SplitNamedText(std::string_view argument);

// "1x3x224x224"; "" is a scalar's. InvalidArgument for other forms.
absl::StatusOr<Dims> ParseDims(std::string_view text);

struct InputRequest {
  std::vector<NamedText> sources;  // a .npy, .png, .jpg or .jpeg file, "8,-1", "random" or
                                   // "zeros"
  std::vector<NamedText> shapes;
  std::optional<int64_t> batch;  // extent 0 where neither the model nor a shape says it
  NamedTensors given;            // tensors by input name, used where no source is said
  ImagePreset image;
  bool image_was_asked = false;  // else an image for a u8 input is taken raw
  uint64_t seed = 0;
};

struct ModelInput {
  std::string name;
  HostTensor tensor;
  std::string source;  // in words: "photo.jpg, 640 x 427, preset imagenet", "random, seed 0"
  std::string taken;   // of FilledDims; `source` ends with it
};

// The dims that each of `infos` gets by `shapes`, else by DimFiller.
//   errors  InvalidArgument: an unknown or repeated name, a shape that does not fit
absl::StatusOr<std::map<std::string, FilledDims, std::less<>>> ShapesOf(
    const std::vector<ValueInfo>& infos, const std::vector<NamedText>& shapes);

// `status`, an error about inputs whose dims nothing gave, with what was taken for them.
//   taken  of FilledDims, by input name
absl::Status WithTakenDims(const absl::Status& status,
                           const std::map<std::string, std::string, std::less<>>& taken);

// One tensor for each of `infos`, in order; where nothing is said, random numbers. Dims that are
// not numbers come from the shape that was asked for, else from files, else DimFiller takes them,
// which `source` says.
//   errors  InvalidArgument: an unknown or repeated name; a file that does not fit. Those of the
//   files
absl::StatusOr<std::vector<ModelInput>> MakeInputs(const std::vector<ValueInfo>& infos,
                                                   const InputRequest& request);

// The tensors that `request.sources` give, by input name. Errors as above.
absl::StatusOr<NamedTensors> SaidInputs(const std::vector<ValueInfo>& infos,
                                        const InputRequest& request);

// The Session's view of `tensor`.
TensorView ViewOf(const HostTensor& tensor);
// What a Session gave: the same bytes; strings are copied.
HostTensor HostTensorOf(const Tensor& tensor);

}  // namespace onnx_cudnn
