// Frames from a file or a part of it (the whole, records of one size, or with their lengths before them) or from a
// folder's files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "extras/streams/basic/sources.h"
#include "extras/streams/support/frame_clock.h"
#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

// Returns how many bytes there were.
std::size_t read_at(int file, std::span<std::byte> to, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw PluginError(kGone, std::string("reading the file: ") + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void read_all(int file, std::span<std::byte> to, std::uint64_t offset) {
  if (read_at(file, to, offset) != to.size()) throw PluginError(kGone, "the file has become shorter");
}

std::uint64_t size_of(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) throw PluginError(kWrongName, "this is no regular file");
  return static_cast<std::uint64_t>(about.st_size);
}

// Which bytes of a file are the stream.
struct FilePart {
  std::uint64_t begin, end;
};

FilePart part_of(const StreamName& name, std::uint64_t size) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t begin = std::min(name.number("offset", 0, 0, most), size);
  return {begin, begin + std::min(name.number("bytes", most, 0, most), size - begin)};
}

File open_file(const StreamName& name, const Rules& rules) {
  name.allow_keys({"offset", "bytes", "records", "lengths", "max", "rate", "policy", "loop"});
  name.wants_newest();  // reports a wrong word before a missing file
  return open_allowed(rules, "read", name.place(), O_RDONLY | O_NONBLOCK);
}

// A stream of frames that could be read at once, which a rate holds back.
class PacedSource : public Source {
 public:
  explicit PacedSource(const StreamName& name)
      : clock_(name.rate()), keeps_newest_(name.wants_newest()), loops_(name.is_on("loop")) {}

 protected:
  std::optional<FrameInfo> find() final {
    const std::uint64_t overdue = keeps_newest_ ? clock_.overdue(number_) : 0;
    std::uint64_t dropped = 0;
    while (dropped < overdue && step(true)) ++dropped;
    if (!step(false)) return std::nullopt;
    number_ += dropped;
    clock_.wait_for(number_);
    FrameInfo info;
    info.size = size();
    info.dropped = dropped;
    info.timestamp_ns = clock_.timestamp_ns(number_++);
    return info;
  }

  // Goes to the next frame. Returns false at the end, and in place of passing over the last frame.
  virtual bool advance(bool passes_over) = 0;
  virtual void rewind() = 0;
  // Of the frame that advance() has found.
  virtual std::uint64_t size() = 0;

 private:
  bool step(bool passes_over) {
    if (advance(passes_over)) return true;
    if (!loops_) return false;
    rewind();
    return advance(passes_over);
  }

  FrameClock clock_;
  const bool keeps_newest_, loops_;
  std::uint64_t number_ = 0;
};

class FileSource final : public PacedSource {
 public:
  FileSource(const StreamName& name, File file)
      : PacedSource(name),
        file_(std::move(file)),
        record_(name.number("records", 0, 1, kFrameMax)),
        has_lengths_(name.is_on("lengths")),
        frame_max_(name.number("max", kFrameUsual, 1, kFrameMax)),
        part_(part_of(name, size_of(file_.get()))),
        next_(part_.begin) {}

 private:
  // The last frame is never passed over, so that a slow reader that wants the newest still sees the end of a file.
  bool advance(bool passes_over) override {
    const std::uint64_t before = next_;
    begin_ = next_;
    if (begin_ >= part_.end) return false;
    count_ = record_ != 0 ? std::min(record_, part_.end - begin_) : part_.end - begin_;
    if (has_lengths_) read_length();
    if (count_ > frame_max_) {
      throw PluginError(
          kBroken, "a frame has " + std::to_string(count_) + " bytes, more than max=" + std::to_string(frame_max_));
    }
    next_ = begin_ + count_;
    if (!passes_over || next_ < part_.end) return true;
    next_ = before;
    return false;
  }

  void read_length() {
    std::uint32_t length = 0;
    const std::size_t got = read_at(file_.get(), std::as_writable_bytes(std::span(&length, 1)), begin_);
    begin_ += sizeof length;
    count_ = length;
    if (got == sizeof length && length <= part_.end - begin_) return;
    throw PluginError(kBroken, "the file ends within a frame, at byte " + std::to_string(part_.end));
  }

  void rewind() override { next_ = part_.begin; }

  std::uint64_t size() override { return count_; }
  void put(std::span<std::byte> to) override { read_all(file_.get(), to.first(count_), begin_); }

  const File file_;
  const std::uint64_t record_;
  const bool has_lengths_;
  const std::uint64_t frame_max_;
  const FilePart part_;
  std::uint64_t begin_ = 0, count_ = 0, next_;  // bytes
};

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  DIR* const entries = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 3));
  if (entries == nullptr) throw PluginError(kWrongName, std::string("this is no folder: ") + std::strerror(errno));
  while (const dirent* const entry = ::readdir(entries)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

class FolderSource final : public PacedSource {
 public:
  FolderSource(const StreamName& name, File folder)
      : PacedSource(name),
        folder_(std::move(folder)),
        frame_max_(name.number("max", kFrameUsual, 1, kFrameMax)),
        names_(names_in(folder_.get())) {}

 private:
  bool advance(bool passes_over) override {
    if (next_ >= names_.size() || (passes_over && next_ + 1 == names_.size())) return false;
    ++next_;
    return true;
  }
  void rewind() override { next_ = 0; }

  std::uint64_t size() override {
    const std::string& name = names_[next_ - 1];
    file_ = File(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file_.get() < 0) throw PluginError(kGone, name + ": " + std::strerror(errno));
    size_ = size_of(file_.get());
    if (size_ > frame_max_) throw PluginError(kBroken, name + " is larger than max=" + std::to_string(frame_max_));
    return size_;
  }
  void put(std::span<std::byte> to) override { read_all(file_.get(), to.first(size_), 0); }

  const File folder_;
  const std::uint64_t frame_max_;
  const std::vector<std::string> names_;
  std::size_t next_ = 0;
  File file_;  // the one that was found
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_file_source(const StreamName& name, const Rules& rules) {
  return std::make_unique<FileSource>(name, open_file(name, rules));
}

std::uint64_t size_of_file_source(const StreamName& name, const Rules& rules) {
  const File file = open_file(name, rules);
  const FilePart part = part_of(name, size_of(file.get()));
  return part.end - part.begin;
}

std::unique_ptr<Source> open_folder_source(const StreamName& name, const Rules& rules) {
  name.allow_keys({"max", "rate", "policy", "loop"});
  return std::make_unique<FolderSource>(name, open_allowed(rules, "read", name.place(), O_RDONLY | O_DIRECTORY));
}

}  // namespace remotecl::plugins
