// A file of named parts, which is mapped and not read as a whole:
//   the header   "\x89OCP\r\n\x1a\n", the format's version and the number of parts (u32), the bytes
//                of the table and of the file (u64), CRC-32C of the table and of the header (u32)
//   the table    of each part: the bytes of its name (u32), the name, its offset and its bytes
//                (u64), its CRC-32C (u32)
//   the parts    in the order of the table, each at a multiple of 256 bytes
// Numbers are little-endian.
//   errors  InvalidArgument: damaged, cut off, not such a file; Unimplemented: a later version.
//           Messages start with the file's name. Those of base/file.h
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/file.h"

namespace onnx_cudnn {

// Thread-safe. Nobody may change or truncate the file while an object lives.
class PartsFile {
 public:
  // Whether a file that starts with these bytes claims to be one.
  static bool StartsOne(std::string_view start);
  static absl::StatusOr<bool> IsOne(const File& file);
  // Maps the file and checks its table.
  static absl::StatusOr<std::shared_ptr<const PartsFile>> Open(const File& file);
  // The same of a copy of `bytes`.
  static absl::StatusOr<std::shared_ptr<const PartsFile>> Copy(std::string_view bytes,
                                                               std::string name);

  bool Has(std::string_view part) const { return parts_.contains(part); }
  // The bytes of a part, valid as long as this object. The first call checks them.
  absl::StatusOr<std::string_view> Read(std::string_view part) const;
  // The part whose bytes start at `data`; nullopt: none.
  std::optional<std::string_view> PartAt(const void* data) const;
  std::vector<std::string_view> parts() const;  // their names, in the order of the file
  const std::string& name() const { return name_; }

 private:
  struct Part {
    int64_t offset = 0, bytes = 0;
    uint32_t crc = 0;
    mutable std::atomic<bool> is_checked = false;
  };

  PartsFile(std::shared_ptr<const char> data, int64_t size, std::string name)
      : data_(std::move(data)), size_(size), name_(std::move(name)) {}
  static absl::StatusOr<std::shared_ptr<const PartsFile>> Parse(std::shared_ptr<PartsFile> file);
  absl::Status ReadTable();
  absl::Status Damaged(std::string_view what) const;

  const std::shared_ptr<const char> data_;
  const int64_t size_;
  const std::string name_;
  std::map<std::string, Part, std::less<>> parts_;
  std::map<int64_t, const std::string*> by_offset_;  // of those that are not empty
};

// Collects parts and writes the file.
class PartsWriter {
 public:
  // Both: `name` must be new.
  void Add(std::string name, std::string bytes);
  // Of bytes that live until the file is written.
  void AddView(std::string name, std::string_view bytes);
  // The name of a part with these bytes, which live until the file is written; a new one gets a
  // number. Equal bytes share one part.
  std::string Share(std::string_view bytes);
  // Replaces the content of `path` and returns its bytes; on failure the old file stays.
  absl::StatusOr<int64_t> WriteTo(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::string_view>> parts_;
  std::map<std::string_view, std::string> shared_;  // by content
  std::deque<std::string> owned_;
};

}  // namespace onnx_cudnn
