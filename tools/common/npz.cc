// .npz: a zip file of .npy files.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "minizip/unzip.h"
#include "minizip/zip.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {
namespace {

constexpr uint64_t kMaxMemberBytes = uint64_t{4} << 30;
constexpr uint64_t kMaxMembers = 10'000;

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a .npz file that can be read: ", what));
}

struct Member {
  std::string name;
  uint64_t bytes;
};

absl::StatusOr<Member> DescribeMember(unzFile zip) {
  unz_file_info64 info;
  char name[1024];
  if (unzGetCurrentFileInfo64(zip, &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
      UNZ_OK) {
    return Malformed("a member's header");
  }
  // Deflate compresses at most 1032-fold: a larger claim is false and would only waste memory.
  if (info.size_filename >= sizeof(name) || info.uncompressed_size > kMaxMemberBytes ||
      info.uncompressed_size / 1040 > info.compressed_size) {
    return Malformed("a member's size");
  }
  return Member{std::string(name, info.size_filename), info.uncompressed_size};
}

absl::StatusOr<std::string> ReadMember(unzFile zip, uint64_t bytes) {
  if (unzOpenCurrentFile(zip) != UNZ_OK) return Malformed("a member's data");
  std::string content(bytes, '\0');
  size_t done = 0;
  while (done < content.size()) {
    const size_t chunk = std::min<size_t>(content.size() - done, 1 << 30);
    const int read = unzReadCurrentFile(zip, content.data() + done, static_cast<unsigned>(chunk));
    if (read <= 0) break;
    done += read;
  }
  if (unzCloseCurrentFile(zip) != UNZ_OK || done != content.size()) {
    return Malformed("a member is cut short or its checksum is wrong");
  }
  return content;
}

absl::Status AddMember(unzFile zip, NamedTensors& tensors) {
  ASSIGN_OR_RETURN(const Member member, DescribeMember(zip));
  ASSIGN_OR_RETURN(const std::string bytes, ReadMember(zip, member.bytes));
  absl::StatusOr<HostTensor> tensor = ParseNpy(bytes);
  if (!tensor.ok()) return Annotate(tensor.status(), member.name);
  tensors[std::string(absl::StripSuffix(member.name, ".npy"))] = *std::move(tensor);
  return absl::OkStatus();
}

// Uncompressed, as numpy.savez writes it.
bool WriteMember(zipFile zip, const std::string& name, std::string_view bytes) {
  const zip_fileinfo info = {};
  constexpr int kStored = 0, kZip64 = 1;
  if (zipOpenNewFileInZip64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, kStored, 0,
                            kZip64) != ZIP_OK) {
    return false;
  }
  constexpr size_t kMostChunk = 1 << 30;
  bool is_written = true;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMostChunk))) {
    const auto chunk = static_cast<unsigned>(std::min(bytes.size(), kMostChunk));
    is_written &= zipWriteInFileInZip(zip, bytes.data(), chunk) == ZIP_OK;
  }
  return zipCloseFileInZip(zip) == ZIP_OK && is_written;
}

absl::StatusOr<NamedTensors> ReadMembers(unzFile zip) {
  unz_global_info64 info;
  if (unzGetGlobalInfo64(zip, &info) != UNZ_OK || info.number_entry > kMaxMembers) {
    return Malformed("the directory");
  }
  NamedTensors tensors;
  int more = unzGoToFirstFile(zip);
  for (uint64_t i = 0; i < info.number_entry && more == UNZ_OK; ++i, more = unzGoToNextFile(zip)) {
    RETURN_IF_ERROR(AddMember(zip, tensors));
  }
  if (more != UNZ_END_OF_LIST_OF_FILE && info.number_entry > 0) return Malformed("the directory");
  return tensors;
}

}  // namespace

absl::Status WriteNpz(const std::string& path, const NamedTensors& tensors) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, tensor] : tensors) {
    absl::StatusOr<std::string> bytes = FormatNpy(tensor);
    if (!bytes.ok()) return Annotate(bytes.status(), name);
    members.emplace_back(absl::StrCat(name, ".npy"), *std::move(bytes));
  }
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  if (zip == nullptr) return absl::DataLossError(absl::StrCat(path, ": cannot be written"));
  bool is_written = true;
  for (const auto& [name, bytes] : members) {
    is_written &= WriteMember(zip, name, bytes);
  }
  is_written &= zipClose(zip, nullptr) == ZIP_OK;
  if (is_written) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": cannot be written as a whole"));
}

absl::StatusOr<NamedTensors> ReadNpz(const std::string& path) {
  RETURN_IF_ERROR(File::Open(path).status());  // reports errors in the path
  unzFile zip = unzOpen64(path.c_str());
  if (zip == nullptr) return Annotate(Malformed("no zip directory"), path);
  absl::Cleanup close = [zip] { unzClose(zip); };
  absl::StatusOr<NamedTensors> tensors = ReadMembers(zip);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

}  // namespace onnx_cudnn
