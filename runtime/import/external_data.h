// The files beside a model that hold tensors' bytes.
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
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {

// Opens files of one model's folder, each once, and hands out ranges of them. A file is opened
// beneath the folder, without links (LoadOptions::follow_hub_links apart), and must be a regular
// file that has no second name. All distinct ranges of a file together are at most its size, so a
// small file cannot ask for much memory.
class ExternalData {
 public:
  // Without a folder: a model that came as bytes. Every Read is refused.
  ExternalData() = default;
  explicit ExternalData(std::string model_path, const LoadOptions& options)
      : model_path_(std::move(model_path)), options_(options) {}

  // The bytes that a tensor's external_data entries name; u8[bytes]. They must be `bytes` in
  // number.
  //   errors  InvalidArgument: keys, numbers, a path or a file that is not taken,
  //           another length; what File says
  absl::StatusOr<HostTensor> Read(const onnx::TensorProto& tensor, int64_t bytes);

 private:
  struct Source {
    std::optional<File> file;
    std::shared_ptr<const char> mapped;
    std::string sha1;                                          // once it was asked for
    int64_t handed_out = 0;                                    // bytes in distinct ranges
    std::map<std::pair<int64_t, int64_t>, HostTensor> ranges;  // by offset and length
  };

  absl::StatusOr<Source*> Find(const std::string& location);
  absl::StatusOr<File> Open(const std::string& location) const;
  absl::Status CheckSum(Source& source, const std::string& expected) const;
  absl::StatusOr<HostTensor> Fetch(Source& source, int64_t offset, int64_t bytes) const;

  std::optional<std::string> model_path_;
  LoadOptions options_;
  std::map<std::string, Source> sources_;
};

}  // namespace onnx_cudnn
