// Models with external data in a folder that also has files that the model must not read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/hostile.h"

namespace onnx_cudnn {

using MakeFile = std::function<std::string(const TempFolder&)>;

// Saves a model in m/ with the output f32[4] in external data. m/data has its 16 bytes; so does
// `secret`, a file next to m/.
std::string SaveExternal(const TempFolder& folder, const std::vector<Entry>& entries,
                         int dtype = onnx::TensorProto::FLOAT);

MakeFile Entries(std::vector<Entry> entries);
MakeFile Location(std::string location);
// The location `location`, which `make` puts into the model's folder.
MakeFile At(std::string location, std::function<void(const TempFolder&)> make);

}  // namespace onnx_cudnn
