// The external files that hold tensor data of a model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/file.h"
#include "runtime/base/parts_file.h"
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {

// Opens the files in the directory of one model, each once, and returns ranges of them. A file is
// opened beneath the directory, without following links (except with
// LoadOptions::follow_hub_links), and must be a regular file with a single hard link. The distinct
// ranges of a file together are at most its size, so a small file cannot request much memory.
class ExternalData {
 public:
  // For a model without a directory, loaded from memory. Every Read is refused.
  ExternalData() = default;
  explicit ExternalData(std::string model_path, const LoadOptions& options)
      : model_path_(std::move(model_path)), options_(options) {}
  // For a model in a file of parts: locations are names of other parts.
  explicit ExternalData(std::shared_ptr<const PartsFile> parts) : parts_(std::move(parts)) {}

  // The bytes that the external_data entries of a tensor refer to, as u8[bytes]. There must be
  // exactly `bytes` of them.
  //   errors  InvalidArgument: keys, numbers, a path or a file that is not accepted, another
  //           length; the errors of File
  absl::StatusOr<HostTensor> Read(const onnx::TensorProto& tensor, int64_t bytes);

 private:
  struct Source {
    std::optional<File> file;
    std::shared_ptr<const char> mapped;
    std::string sha1;                                          // computed on first use
    int64_t handed_out = 0;                                    // total of distinct ranges
    std::map<std::pair<int64_t, int64_t>, HostTensor> ranges;  // by offset and length
  };

  absl::StatusOr<Source*> Find(const std::string& location);
  absl::StatusOr<File> Open(const std::string& location) const;
  absl::Status CheckSum(Source& source, const std::string& expected) const;
  absl::StatusOr<HostTensor> ReadPart(const std::string& location, int64_t bytes) const;
  absl::StatusOr<HostTensor> Fetch(Source& source, int64_t offset, int64_t bytes) const;

  std::shared_ptr<const PartsFile> parts_;  // nullptr: none
  std::optional<std::string> model_path_;
  LoadOptions options_;
  std::map<std::string, Source> sources_;
};

}  // namespace onnx_cudnn
