#include "runtime/base/parts_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "\x89OCP\r\n\x1a\n";
constexpr uint32_t kVersion = 1;
constexpr int64_t kAlignment = 256;
constexpr int64_t kHeaderBytes = 40;
constexpr int64_t kLeastEntryBytes = 24;  // of the table

int64_t Aligned(int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

template <typename T>
void Put(T number, std::string& to) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Takes numbers and names off the start of `bytes`; false: they end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  bool Take(T& number) {
    if (bytes_.size() < sizeof(number)) return false;
    std::memcpy(&number, bytes_.data(), sizeof(number));
    bytes_.remove_prefix(sizeof(number));
    return true;
  }
  bool Take(size_t size, std::string_view& text) {
    if (bytes_.size() < size) return false;
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

}  // namespace

bool PartsFile::StartsOne(std::string_view start) { return absl::StartsWith(start, kMagic); }

absl::StatusOr<bool> PartsFile::IsOne(const File& file) {
  std::string start(kMagic.size(), '\0');
  if (file.size() < static_cast<int64_t>(start.size())) return false;
  RETURN_IF_ERROR(file.ReadAt(0, absl::MakeSpan(start)));
  return StartsOne(start);
}

absl::StatusOr<std::shared_ptr<const PartsFile>> PartsFile::Open(const File& file) {
  ASSIGN_OR_RETURN(std::shared_ptr<const char> data, file.Map());
  return Parse(
      std::shared_ptr<PartsFile>(new PartsFile(std::move(data), file.size(), file.name())));
}

absl::StatusOr<std::shared_ptr<const PartsFile>> PartsFile::Copy(std::string_view bytes,
                                                                 std::string name) {
  char* copy = static_cast<char*>(
      ::operator new(std::max<size_t>(bytes.size(), 1), std::align_val_t(kAlignment)));
  std::shared_ptr<const char> data(copy, [](const char* p) {
    ::operator delete(const_cast<char*>(p), std::align_val_t(kAlignment));
  });
  std::copy(bytes.begin(), bytes.end(), copy);
  const auto size = static_cast<int64_t>(bytes.size());
  return Parse(std::shared_ptr<PartsFile>(new PartsFile(std::move(data), size, std::move(name))));
}

absl::StatusOr<std::shared_ptr<const PartsFile>> PartsFile::Parse(std::shared_ptr<PartsFile> file) {
  RETURN_IF_ERROR(file->ReadTable());
  return std::shared_ptr<const PartsFile>(std::move(file));
}

absl::Status PartsFile::Damaged(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ": ", what));
}

absl::Status PartsFile::ReadTable() {
  const std::string_view all(data_.get(), size_);
  if (!StartsOne(all)) return Damaged("is no compiled model");
  Reader header(all.substr(kMagic.size()));
  uint32_t version = 0, count = 0, table_crc = 0, header_crc = 0;
  uint64_t table_bytes = 0, file_bytes = 0;
  if (header.Take(version) && version != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat(name_, ": has format ", version, ", this version reads format ", kVersion));
  }
  if (!header.Take(count) || !header.Take(table_bytes) || !header.Take(file_bytes) ||
      !header.Take(table_crc) || !header.Take(header_crc)) {
    return Damaged("is cut off in its header");
  }
  if (header_crc != Crc32c(all.substr(0, kHeaderBytes - sizeof(header_crc)))) {
    return Damaged("is damaged: the header's checksum differs");
  }
  if (file_bytes != all.size()) {
    return Damaged(absl::StrCat("has ", all.size(), " bytes, its header says ", file_bytes));
  }
  if (table_bytes > all.size() - kHeaderBytes || count > table_bytes / kLeastEntryBytes) {
    return Damaged("is damaged: the table is longer than the file");
  }
  const std::string_view table = all.substr(kHeaderBytes, table_bytes);
  if (table_crc != Crc32c(table)) return Damaged("is damaged: the table's checksum differs");
  Reader entries(table);
  uint64_t end = kHeaderBytes + table_bytes;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t name_bytes = 0, crc = 0;
    uint64_t offset = 0, bytes = 0;
    std::string_view name;
    if (!entries.Take(name_bytes) || !entries.Take(name_bytes, name) || !entries.Take(offset) ||
        !entries.Take(bytes) || !entries.Take(crc)) {
      return Damaged("is damaged: the table ends early");
    }
    const bool fits = offset >= end && offset % kAlignment == 0 && offset <= all.size() &&
                      bytes <= all.size() - offset;
    if (!fits) return Damaged(absl::StrCat("part ", i, " lies outside of the file or in another"));
    end = offset + bytes;
    const auto [part, is_new] = parts_.try_emplace(std::string(name));
    if (!is_new) return Damaged(absl::StrCat("part ", i, " has the name of another"));
    part->second.offset = static_cast<int64_t>(offset);
    part->second.bytes = static_cast<int64_t>(bytes);
    part->second.crc = crc;
    if (bytes > 0) by_offset_.emplace(part->second.offset, &part->first);
  }
  return entries.is_at_end() ? absl::OkStatus() : Damaged("is damaged: the table is too long");
}

absl::StatusOr<std::string_view> PartsFile::Read(std::string_view part) const {
  const auto found = parts_.find(part);
  if (found == parts_.end()) {
    return Damaged(absl::StrCat("has no part \"", Printable(part), "\""));
  }
  const Part& p = found->second;
  const std::string_view bytes(data_.get() + p.offset, p.bytes);
  if (!p.is_checked) {
    if (Crc32c(bytes) != p.crc) {
      return Damaged(
          absl::StrCat("is damaged: the checksum of part \"", Printable(part), "\" differs"));
    }
    p.is_checked = true;
  }
  return bytes;
}

std::optional<std::string_view> PartsFile::PartAt(const void* data) const {
  const auto begin = reinterpret_cast<uintptr_t>(data_.get());
  const auto at = reinterpret_cast<uintptr_t>(data);
  if (at < begin || at - begin >= static_cast<uintptr_t>(size_)) return std::nullopt;
  const auto found = by_offset_.find(static_cast<int64_t>(at - begin));
  if (found == by_offset_.end()) return std::nullopt;
  return *found->second;
}

std::vector<std::string_view> PartsFile::parts() const {
  std::vector<std::pair<int64_t, std::string_view>> by_offset;
  for (const auto& [name, part] : parts_) by_offset.emplace_back(part.offset, name);
  std::sort(by_offset.begin(), by_offset.end());
  std::vector<std::string_view> names;
  for (const auto& [offset, name] : by_offset) names.push_back(name);
  return names;
}

void PartsWriter::Add(std::string name, std::string bytes) {
  owned_.push_back(std::move(bytes));
  AddView(std::move(name), owned_.back());
}

void PartsWriter::AddView(std::string name, std::string_view bytes) {
  parts_.emplace_back(std::move(name), bytes);
}

std::string PartsWriter::Share(std::string_view bytes) {
  const auto [shared, is_new] = shared_.try_emplace(bytes);
  if (is_new) {
    shared->second = absl::StrCat("w", shared_.size());
    AddView(shared->second, bytes);
  }
  return shared->second;
}

absl::StatusOr<int64_t> PartsWriter::WriteTo(const std::string& path) const {
  int64_t table_bytes = 0;
  for (const auto& [name, bytes] : parts_) {
    table_bytes += kLeastEntryBytes + static_cast<int64_t>(name.size());
  }
  std::string table;
  int64_t end = kHeaderBytes + table_bytes;
  std::vector<int64_t> offsets;
  for (const auto& [name, bytes] : parts_) {
    offsets.push_back(Aligned(end));
    Put(static_cast<uint32_t>(name.size()), table);
    table += name;
    Put(static_cast<uint64_t>(offsets.back()), table);
    Put(static_cast<uint64_t>(bytes.size()), table);
    Put(Crc32c(bytes), table);
    end = offsets.back() + static_cast<int64_t>(bytes.size());
  }
  std::string header(kMagic);
  Put(kVersion, header);
  Put(static_cast<uint32_t>(parts_.size()), header);
  Put(static_cast<uint64_t>(table_bytes), header);
  Put(static_cast<uint64_t>(end), header);
  Put(Crc32c(table), header);
  Put(Crc32c(header), header);
  ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append(header + table));
  int64_t written = kHeaderBytes + table_bytes;
  for (size_t i = 0; i < parts_.size(); ++i) {
    RETURN_IF_ERROR(writer.Append(std::string(offsets[i] - written, '\0')));
    RETURN_IF_ERROR(writer.Append(parts_[i].second));
    written = offsets[i] + static_cast<int64_t>(parts_[i].second.size());
  }
  RETURN_IF_ERROR(writer.Commit());
  return end;
}

}  // namespace onnx_cudnn
