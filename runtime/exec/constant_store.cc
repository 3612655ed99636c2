#include "runtime/exec/constant_store.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {
namespace {

// Forms that are made before they are uploaded: enough for all threads, and little memory.
constexpr size_t kMadeAtOnce = 32;

std::string FormKey(const ConstantUse& use, Space space) {
  return absl::StrCat(use.derived->recipe.size(), "'", use.derived->recipe, "'",
                      use.derived->to.ToString(), space == Space::kHost ? "@host" : "@device");
}

std::string TypeKey(const HostTensor& tensor) {
  return ToString(Type::Tensor(tensor.dtype(), tensor.dims()));
}

std::string IdentityKey(const ConstantUse& use, Space space) {
  std::string key = absl::StrCat("identity ", FormKey(use, space));
  for (const HostTensor& source : use.sources) {
    absl::StrAppend(&key, " ", TypeKey(source), reinterpret_cast<uintptr_t>(source.raw()));
  }
  return key;
}

std::string ContentKey(const ConstantUse& use, Space space) {
  std::string key = absl::StrCat("content ", FormKey(use, space));
  for (const HostTensor& source : use.sources) {
    const std::string_view bytes(static_cast<const char*>(source.raw()), source.bytes());
    absl::StrAppend(&key, " ", TypeKey(source), absl::Hex(absl::HashOf(bytes)));
  }
  return key;
}

bool SameSources(absl::Span<const HostTensor> a, absl::Span<const HostTensor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameContent);
}

}  // namespace

struct ConstantStore::Entry {
  const std::vector<HostTensor> sources;  // keeps the addresses in identity keys from being reused
  int keys = 0;                           // number of keys in the table; guarded by its mutex
  absl::Mutex mutex = {};
  bool made ABSL_GUARDED_BY(mutex) = false;
  std::shared_ptr<const std::byte> form ABSL_GUARDED_BY(mutex) =
      nullptr;  // may be null if there are no bytes
  int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
};

ConstantStore::~ConstantStore() = default;

ConstantStore::EntryPointer ConstantStore::FindOrAdd(const std::string& key,
                                                     const ConstantUse& use) {
  std::vector<EntryPointer> unused;  // freed after the lock is released
  absl::MutexLock lock(mutex_);
  if (auto it = entries_.find(key); it != entries_.end()) return it->second;
  EntryPointer entry = std::make_shared<Entry>(use.sources);
  unused = Insert(key, entry);
  return entry;
}

std::vector<ConstantStore::EntryPointer> ConstantStore::Insert(const std::string& key,
                                                               const EntryPointer& entry) {
  if (!entries_.try_emplace(key, entry).second) return {};
  ++entry->keys;
  if (entries_.size() < free_at_) return {};
  std::vector<EntryPointer> unused = TakeUnused();
  free_at_ = std::max<size_t>(2 * entries_.size(), 64);
  return unused;
}

// Forms share the ownership of their Entry. While the table's mutex is held, no new owner can
// appear.
std::vector<ConstantStore::EntryPointer> ConstantStore::TakeUnused() {
  absl::flat_hash_set<const Entry*> unused;
  for (const auto& [key, entry] : entries_) {
    if (entry.use_count() > entry->keys || !unused.insert(entry.get()).second) continue;
    absl::MutexLock lock(entry->mutex);
    bytes_ -= entry->bytes;
  }
  std::vector<EntryPointer> taken;
  std::erase_if(entries_, [&](auto& item) {
    if (!unused.contains(item.second.get())) return false;
    taken.push_back(std::move(item.second));
    return true;
  });
  return taken;
}

ConstantStore::EntryPointer ConstantStore::EntryOf(const ConstantUse& use, Space space) {
  const std::string identity = IdentityKey(use, space);
  {
    absl::MutexLock lock(mutex_);
    auto it = entries_.find(identity);
    if (it != entries_.end()) return it->second;
  }
  const bool is_source = use.derived->recipe.empty() && device_.reads_host_memory();
  const bool is_stored = stored_ != nullptr && stored_->HoldsSources(use);
  if (is_source || is_stored) return FindOrAdd(identity, use);
  std::string key = ContentKey(use, space);
  EntryPointer entry = FindOrAdd(key, use);
  while (!SameSources(entry->sources, use.sources)) {  // equal hashes of different bytes
    key += '+';
    entry = FindOrAdd(key, use);
  }
  std::vector<EntryPointer> unused;
  absl::MutexLock lock(mutex_);
  // The entry owns only its own sources: the address of equal bytes elsewhere may be reused later.
  const bool same_bytes =
      std::equal(use.sources.begin(), use.sources.end(), entry->sources.begin(),
                 [](const HostTensor& a, const HostTensor& b) { return a.raw() == b.raw(); });
  if (same_bytes) unused = Insert(identity, entry);
  return entry;
}

bool ConstantStore::IsMade(Entry& entry) {
  absl::MutexLock lock(entry.mutex);
  return entry.made;
}

absl::Status ConstantStore::Make(Entry& entry, Space space,
                                 absl::FunctionRef<absl::StatusOr<HostTensor>()> make) {
  int64_t bytes = 0;
  {
    absl::MutexLock lock(entry.mutex);
    if (entry.made) return absl::OkStatus();
    ASSIGN_OR_RETURN(const HostTensor tensor, make());
    ASSIGN_OR_RETURN(entry.form, Upload(tensor, space));
    entry.made = true;
    entry.bytes = bytes = tensor.bytes();
  }
  absl::MutexLock lock(mutex_);
  ++made_;
  bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const std::byte>> ConstantStore::Upload(const HostTensor& tensor,
                                                                       Space space) {
  if (space == Space::kDevice) {
    absl::MutexLock lock(mutex_);
    if (auto form = uploaded_.extract(tensor.raw()); !form.empty()) return form.mapped();
  }
  return device_.Upload(tensor, space);
}

void ConstantStore::UploadStored() {
  uploading_ = std::async([this] { UploadEach().IgnoreError(); }).share();
}

absl::Status ConstantStore::UploadEach() {
  RETURN_IF_ERROR(device_.MakeCurrent());
  return stored_->ForEach([this](const HostTensor& form) -> absl::Status {
    ASSIGN_OR_RETURN(auto uploaded, device_.Upload(form, Space::kDevice));
    absl::MutexLock lock(mutex_);
    uploaded_[form.raw()] = std::move(uploaded);
    return absl::OkStatus();
  });
}

void ConstantStore::DropUploaded() {
  Uploaded dropped;  // freed after the lock is released
  absl::MutexLock lock(mutex_);
  dropped.swap(uploaded_);
}

absl::StatusOr<HostTensor> ConstantStore::FormOf(const ConstantUse& use) const {
  if (stored_ != nullptr) {
    ASSIGN_OR_RETURN(HostTensor form, stored_->Find(use));
    if (form.defined()) return form;
  }
  return use.derived->make(use.sources);
}

absl::StatusOr<std::shared_ptr<const std::byte>> ConstantStore::Get(const ConstantUse& use,
                                                                    Space space) {
  const EntryPointer entry = EntryOf(use, space);
  RETURN_IF_ERROR(Make(*entry, space, [&] { return FormOf(use); }));
  absl::MutexLock lock(entry->mutex);
  return std::shared_ptr<const std::byte>(entry, entry->form.get());
}

absl::StatusOr<std::vector<std::shared_ptr<const std::byte>>> ConstantStore::GetAll(
    absl::Span<const PlacedConstant> uses) {
  if (uploading_.valid()) uploading_.wait();
  const absl::Cleanup drops = [this] { DropUploaded(); };
  std::vector<std::shared_ptr<const std::byte>> forms;
  for (; !uses.empty(); uses.remove_prefix(std::min(uses.size(), kMadeAtOnce))) {
    const absl::Span<const PlacedConstant> some = uses.first(std::min(uses.size(), kMadeAtOnce));
    std::vector<EntryPointer> entries(some.size());
    std::vector<absl::StatusOr<HostTensor>> made(some.size());
    const auto make = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const ConstantUse& use = *some[i].use;
        entries[i] = EntryOf(use, some[i].space);
        if (!IsMade(*entries[i])) made[i] = FormOf(use);
      }
    };
    {
      const PhaseTimer timer(RunPhase::kMake);
      ThreadPool::Default().ParallelFor(static_cast<int64_t>(some.size()), 1, make);
    }
    for (size_t i = 0; i < some.size(); ++i) {
      RETURN_IF_ERROR(Make(*entries[i], some[i].space, [&] { return std::move(made[i]); }));
      absl::MutexLock lock(entries[i]->mutex);
      forms.emplace_back(entries[i], entries[i]->form.get());
    }
  }
  return forms;
}

int64_t ConstantStore::BytesOf(const ConstantUse& use, Space space) {
  const EntryPointer entry = EntryOf(use, space);
  absl::MutexLock lock(entry->mutex);
  return entry->bytes;
}

int ConstantStore::made() const {
  absl::MutexLock lock(mutex_);
  return made_;
}

int64_t ConstantStore::bytes() const {
  absl::MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace onnx_cudnn
