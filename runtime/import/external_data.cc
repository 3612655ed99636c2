#include "runtime/import/external_data.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/sha1.h"
#include "runtime/base/status.h"
#include "runtime/import/names.h"

namespace onnx_cudnn {
namespace {

// Locations appear in messages.
constexpr size_t kMostLocationBytes = 500;

struct Entries {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  std::optional<std::string> checksum;
};

absl::Status Refused(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("external data: ", what));
}

// Why `location` cannot be a path below a directory; empty: it can.
std::string_view Flaw(std::string_view location) {
  if (location.empty()) return "location is empty";
  if (location.size() > kMostLocationBytes) return "location is too long";
  if (std::any_of(location.begin(), location.end(), absl::ascii_iscntrl)) {
    return "location holds a control character";
  }
  if (absl::StrContains(location, "_ORT_MEM_ADDR_")) return "location is an address in memory";
  if (location.front() == '/') return "location is an absolute path";
  if (absl::StrContains(location, '\\')) return "location holds a backslash";
  if (location.size() > 1 && absl::ascii_isalpha(location[0]) && location[1] == ':') {
    return "location names a drive";
  }
  for (std::string_view part : absl::StrSplit(location, '/')) {
    if (part == "..") return "location leaves the model's folder";
  }
  if (location.back() == '/') return "location is a folder";
  return "";
}

absl::StatusOr<int64_t> ParseNumber(std::string_view key, std::string_view text) {
  int64_t value = 0;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &value)) {
    return Refused(absl::StrCat(key, " is not a decimal number from 0 to 2^63 - 1"));
  }
  return value;
}

absl::StatusOr<Entries> ParseEntries(const onnx::TensorProto& tensor) {
  Entries entries;
  std::vector<std::string_view> seen;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    const std::string& key = entry.key();
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return Refused(absl::StrCat("key ", Quoted(key), " is given twice"));
    }
    seen.push_back(key);
    if (key == "location") {
      entries.location = entry.value();
    } else if (key == "offset") {
      ASSIGN_OR_RETURN(entries.offset, ParseNumber(key, entry.value()));
    } else if (key == "length") {
      ASSIGN_OR_RETURN(entries.length, ParseNumber(key, entry.value()));
    } else if (key == "checksum") {
      entries.checksum = absl::AsciiStrToLower(entry.value());
    } else {
      return Refused(absl::StrCat("key ", Quoted(key), " is unknown"));
    }
  }
  if (const std::string_view flaw = Flaw(entries.location); !flaw.empty()) return Refused(flaw);
  return entries;
}

}  // namespace

// A hub stores real files in one directory and links to them from others: the link's target must be
// below the directory of the real model, and is opened there without following links, so that
// changing the link between the two look-ups has no effect.
absl::StatusOr<File> ExternalData::Open(const std::string& location) const {
  const std::string folder_path = FolderOf(*model_path_);
  if (!options_.follow_hub_links) {
    ASSIGN_OR_RETURN(Folder folder, Folder::Open(folder_path));
    return folder.OpenBeneath(location);
  }
  ASSIGN_OR_RETURN(std::string real_model, RealPath(*model_path_));
  ASSIGN_OR_RETURN(std::string real, RealPath(absl::StrCat(folder_path, "/", location)));
  const std::string root = FolderOf(real_model);
  const std::string prefix = root == "/" ? root : root + "/";
  if (!absl::StartsWith(real, prefix)) {
    return Refused("the link leads out of the folder of the real model");
  }
  ASSIGN_OR_RETURN(Folder folder, Folder::Open(root));
  return folder.OpenBeneath(real.substr(prefix.size()));
}

absl::StatusOr<ExternalData::Source*> ExternalData::Find(const std::string& location) {
  auto [it, added] = sources_.try_emplace(location);
  if (!added && it->second.file.has_value()) return &it->second;
  absl::StatusOr<File> file = Open(location);
  if (!file.ok()) return Annotate(file.status(), "external data");
  if (file->links() > 1) return Refused("the file has more than one name (hard links)");
  it->second.file = *std::move(file);
  return &it->second;
}

absl::Status ExternalData::CheckSum(Source& source, const std::string& expected) const {
  if (source.sha1.empty()) {
    constexpr int64_t kPiece = 1 << 20;
    Sha1 sha1;
    std::string piece;
    for (int64_t at = 0; at < source.file->size(); at += kPiece) {
      piece.resize(std::min(kPiece, source.file->size() - at));
      RETURN_IF_ERROR(source.file->ReadAt(at, absl::MakeSpan(piece)));
      sha1.Update(piece);
    }
    source.sha1 = sha1.HexDigest();
  }
  if (source.sha1 != expected) return Refused("checksum differs from the file's sha1");
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> ExternalData::Fetch(Source& source, int64_t offset,
                                               int64_t bytes) const {
  if (options_.external_bytes == ExternalBytes::kRead) {
    HostTensor data = HostTensor::Allocate(DType::kU8, {bytes});
    RETURN_IF_ERROR(source.file->ReadAt(offset, data.mutable_data<char>()));
    return data;
  }
  if (source.mapped == nullptr) {
    ASSIGN_OR_RETURN(source.mapped, source.file->Map());
  }
  return HostTensor::Borrow(DType::kU8, {bytes}, source.mapped.get() + offset, source.mapped);
}

absl::StatusOr<HostTensor> ExternalData::ReadPart(const std::string& location,
                                                  int64_t bytes) const {
  ASSIGN_OR_RETURN(const std::string_view part, parts_->Read(location));
  if (static_cast<int64_t>(part.size()) == bytes) {
    return HostTensor::Borrow(DType::kU8, {bytes}, part.data(), parts_);
  }
  return Refused(absl::StrCat("part ", Quoted(location), " has ", part.size(),
                              " bytes, dims and type need ", bytes));
}

absl::StatusOr<HostTensor> ExternalData::Read(const onnx::TensorProto& tensor, int64_t bytes) {
  ASSIGN_OR_RETURN(Entries entries, ParseEntries(tensor));
  if (parts_ != nullptr) return ReadPart(entries.location, bytes);
  if (!model_path_.has_value()) return Refused("a model that came as bytes has no folder for it");
  if (entries.length.value_or(bytes) != bytes) {
    return Refused(absl::StrCat("length is ", *entries.length, ", dims and type need ", bytes));
  }
  ASSIGN_OR_RETURN(Source * source, Find(entries.location));
  const int64_t size = source->file->size();
  if (bytes > size || entries.offset > size - bytes) {
    return Refused(absl::StrCat("bytes ", entries.offset, " to ", entries.offset, " + ", bytes,
                                " of a file of ", size));
  }
  if (entries.checksum.has_value()) RETURN_IF_ERROR(CheckSum(*source, *entries.checksum));
  auto [range, added] = source->ranges.try_emplace({entries.offset, bytes});
  if (!added && range->second.defined()) return range->second;
  if (bytes > size - source->handed_out) {
    return Refused("tensors share bytes of a file, which only whole tensors may");
  }
  ASSIGN_OR_RETURN(range->second, Fetch(*source, entries.offset, bytes));
  source->handed_out += bytes;
  return range->second;
}

}  // namespace onnx_cudnn
