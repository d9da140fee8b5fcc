#include "runtime/store/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/store/eviction.h"

namespace remotecl {
namespace {

// An entry: magic, digest of its name, content, SHA-256 of all this.
constexpr std::string_view kMagic = "remotecl store 1";
constexpr std::size_t kContentOffset = kMagic.size() + sizeof(Digest);
constexpr std::size_t kOverhead = kContentOffset + sizeof(Digest);
constexpr std::size_t kNameSize = kOwnerDigits + 1 + 2 * sizeof(Digest);

std::string_view prefix(Store::Kind kind) { return kind == Store::Kind::kUploads ? "u" : ""; }

std::string hexadecimal(const Digest& digest, std::size_t digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += kDigits[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
  return text;
}

bool is_entry(std::string_view name, Store::Kind kind) {
  if (!name.starts_with(prefix(kind))) return false;
  name.remove_prefix(prefix(kind).size());
  return name.size() == kNameSize && name[kOwnerDigits] == '-' &&
         name.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

Digest name_digest(const std::string& name) { return sha256(as_bytes(name)); }

std::vector<std::byte> pack(const std::string& name, Bytes content) {
  std::vector<std::byte> entry;
  entry.reserve(content.size() + kOverhead);
  const auto add = [&entry](Bytes bytes) { entry.insert(entry.end(), bytes.begin(), bytes.end()); };
  const Digest named = name_digest(name);
  add(as_bytes(kMagic));
  add(std::as_bytes(std::span(named)));
  add(content);
  const Digest sum = sha256(entry);
  add(std::as_bytes(std::span(sum)));
  return entry;
}

// Whether this is what was written under this name.
bool is_right(const std::string& name, Bytes entry) {
  if (entry.size() < kOverhead) return false;
  const Bytes summed = entry.first(entry.size() - sizeof(Digest));
  const Digest named = name_digest(name);
  if (as_text(entry.first(kMagic.size())) != kMagic) return false;
  if (std::memcmp(summed.data() + kMagic.size(), named.data(), sizeof named) != 0) return false;
  const Digest sum = sha256(summed);
  return std::memcmp(entry.data() + summed.size(), sum.data(), sizeof sum) == 0;
}

void reduce_to_content(std::vector<std::byte>& entry) {
  entry.erase(entry.end() - static_cast<std::ptrdiff_t>(sizeof(Digest)), entry.end());
  entry.erase(entry.begin(), entry.begin() + static_cast<std::ptrdiff_t>(kContentOffset));
}

}  // namespace

Store::Store(std::unique_ptr<Directory> directory, const Bounds& bounds, std::string_view realm, Kind kind,
             Owners owners)
    : directory_(std::move(directory)), bounds_(bounds), realm_(realm), kind_(kind), owners_(owners) {
  trim();
}

std::string Store::name_of(const std::string& named, const Digest& key) const {
  const std::string owner = owners_ == Owners::kTogether ? named.substr(0, named.find(' ')) : named;
  // The sizes mark where realm and owner end.
  const std::string in = std::to_string(realm_.size()) + ":" + realm_;
  const auto sized = [&in](std::string_view each) {
    return in + std::to_string(each.size()) + ":" + std::string(each);
  };
  const std::string text = sized(owner);
  const Digest with_room = sha256(as_bytes(sized(std::string_view(owner).substr(0, owner.find('\n')))));
  return std::string(prefix(kind_)) + hexadecimal(with_room, kOwnerDigits) + "-" +
         hexadecimal(sha256(as_bytes(text + std::string(as_text(std::as_bytes(std::span(key)))))), 2 * sizeof(Digest));
}

std::optional<std::vector<std::byte>> Store::find(const std::string& owner, const Digest& key) {
  const std::string name = name_of(owner, key);
  std::optional<std::vector<std::byte>> found;
  {
    MutexLock lock(mutex_);
    const auto at = recent_by_name_.find(name);
    if (at != recent_by_name_.end()) {
      recent_.splice(recent_.begin(), recent_, at->second);
      found = at->second->content;
      ++counts_.hits;
    }
  }
  if (found) {
    directory_->mark_used(name);
    return found;
  }
  found = directory_->read(name, kContentSizeMax + kOverhead);
  const std::size_t size = found ? found->size() : 0;
  if (!found || !is_right(name, *found)) {
    forget_entry(name, found.has_value());
    return std::nullopt;
  }
  reduce_to_content(*found);
  directory_->mark_used(name);
  remember(name, *found);
  MutexLock lock(mutex_);
  note_entry(name, size);
  ++counts_.hits;
  return found;
}

StoredContent Store::open(const std::string& owner, const Digest& key) {
  const std::string name = name_of(owner, key);
  StoredFile file = directory_->open(name);
  const std::optional<FileState> state = file.state();
  const auto checksum = state && state->is_ours ? verified_checksum(name, file, *state) : std::nullopt;
  if (!checksum) {
    forget_entry(name, state.has_value());
    return StoredContent();
  }
  directory_->mark_used(name);
  {
    MutexLock lock(mutex_);
    note_entry(name, state->size);
    verified_[name] = {*state, *checksum};
    ++counts_.hits;
    counts_.hit_bytes += state->size - kOverhead;
  }
  return content_of(std::move(file), state, *checksum);
}

void Store::doubt(const std::string& owner, const Digest& key) {
  MutexLock lock(mutex_);
  verified_.erase(name_of(owner, key));
}

StoredContent Store::content_of(StoredFile file, const std::optional<FileState>& state, std::uint64_t checksum) {
  if (!state || state->size < kOverhead) return StoredContent();
  return {std::move(file), *state, kContentOffset, state->size - kOverhead, checksum};
}

std::optional<std::uint64_t> Store::verified_checksum(const std::string& name, const StoredFile& file,
                                                      const FileState& state) {
  {
    MutexLock lock(mutex_);
    const auto at = verified_.find(name);
    if (at != verified_.end() && at->second.state == state) return at->second.checksum;
  }
  if (state.size > kContentSizeMax + kOverhead) return std::nullopt;
  std::vector<std::byte> entry(static_cast<std::size_t>(state.size));
  if (!file.read(0, entry) || file.state() != state || !is_right(name, entry)) return std::nullopt;
  return Checksum::of(Bytes(entry).subspan(kContentOffset, entry.size() - kOverhead));
}

// Nobody can use a damaged entry. If another process has just replaced it by a good one, that one is lost.
void Store::forget_entry(const std::string& name, bool is_damaged) {
  if (is_damaged) directory_->remove(name);
  MutexLock lock(mutex_);
  ++counts_.misses;
  counts_.damaged += is_damaged;
  verified_.erase(name);
  const auto at = sizes_.find(name);
  if (at == sizes_.end()) return;
  counts_.bytes -= at->second;
  sizes_.erase(at);
}

void Store::note_entry(const std::string& name, std::uint64_t size) {
  std::uint64_t& known = sizes_[name];
  counts_.bytes += size - known;
  known = size;
}

void Store::remember(const std::string& name, Bytes content) {
  if (content.size() > bounds_.memory) return;
  RecentList forgotten;  // destroyed without the lock
  MutexLock lock(mutex_);
  const auto at = recent_by_name_.find(name);
  if (at != recent_by_name_.end()) {
    const auto former = at->second;
    recent_size_ -= former->content.size();
    recent_by_name_.erase(at);
    forgotten.splice(forgotten.end(), recent_, former);
  }
  recent_.push_front({name, {content.begin(), content.end()}});
  recent_by_name_.emplace(recent_.front().name, recent_.begin());
  recent_size_ += content.size();
  while (recent_size_ > bounds_.memory) {
    const auto last = std::prev(recent_.end());
    recent_size_ -= last->content.size();
    recent_by_name_.erase(last->name);
    forgotten.splice(forgotten.end(), recent_, last);
  }
}

void Store::keep(const std::string& owner, const Digest& key, Bytes content) {
  if (content.size() > kContentSizeMax || content.size() + kOverhead > bounds_.directory) return;
  const std::string name = name_of(owner, key);
  const std::vector<std::byte> entry = pack(name, content);
  const std::optional<FileState> written = directory_->write(name, entry);
  remember(name, content);
  const std::uint64_t checksum = Checksum::of(content);
  {
    MutexLock lock(mutex_);
    if (!written) {
      ++counts_.failed;
      return;
    }
    note_entry(name, entry.size());
    verified_[name] = {*written, checksum};
    written_ += entry.size();
    // Other processes write too, so look at the directory now and then.
    if (counts_.bytes <= bounds_.directory && written_ <= bounds_.directory / 16) return;
  }
  trim();
}

void Store::trim() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(trims_, true)) return;
    written_ = 0;
  }
  std::vector<Directory::Entry> entries = directory_->list();
  std::erase_if(entries, [this](const Directory::Entry& entry) { return !is_entry(entry.name, kind_); });
  std::set<std::string> removed;
  const auto remove = [this, &removed](const std::string& name) {
    directory_->remove(name);
    removed.insert(name);
  };
  // A power cut may leave files without their bytes, which cost nothing of the bound and nobody can use.
  std::erase_if(entries, [&remove](const Directory::Entry& entry) {
    if (entry.size < kOverhead) remove(entry.name);
    return entry.size < kOverhead;
  });
  const Eviction order = kind_ == Kind::kUploads ? Eviction::kScanned : Eviction::kLeastRecent;
  for (const std::string& name : superfluous(entries, bounds_.directory, order)) remove(name);
  MutexLock lock(mutex_);
  trims_ = false;
  sizes_.clear();
  counts_.bytes = 0;
  for (const auto& entry : entries) {
    if (!removed.contains(entry.name)) note_entry(entry.name, entry.size);
  }
  std::erase_if(verified_, [this](const auto& each) REQUIRES(mutex_) { return !sizes_.contains(each.first); });
}

Store::Counts Store::counts() const {
  MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.entries = sizes_.size();
  return counts;
}

}  // namespace remotecl
