// Frames from shared memory of another process: what its reader finds when it is late, and when the writer is new.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"
#include "stream_program.h"

namespace remotecl::plugins {
namespace {

// The writer of a ring, as docs/streams.md has it.
class Ring {
 public:
  Ring(const std::string& name, std::uint64_t slots)
      : name_("/" + name), file_(::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)), slots_(slots) {
    const std::size_t size = sizeof(std::uint64_t) * (4 + slots * kSlotWords);
    EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(size)), 0);
    words_ = static_cast<std::uint64_t*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    std::memcpy(words_, "RCLRING1", 8);
    words_[1] = slots;
    words_[2] = sizeof(std::uint64_t);
  }
  ~Ring() {
    ::munmap(words_, sizeof(std::uint64_t) * (4 + slots_ * kSlotWords));
    ::shm_unlink(name_.c_str());
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Frames of 8 bytes: their number and the writer's mark.
  void write(std::uint64_t mark = 0) {
    begin();
    const std::uint64_t number = words_[3];
    slot(number)[1] = sizeof(std::uint64_t);
    slot(number)[3] = mark + number;
    slot(number)[0] = 2 * number + 2;
    words_[3] = number + 1;
  }
  // Begins the next frame, and leaves it so.
  void begin() { slot(words_[3])[0] = 2 * words_[3] + 1; }

 private:
  static constexpr std::uint64_t kSlotWords = 4;
  std::uint64_t* slot(std::uint64_t number) { return words_ + 4 + number % slots_ * kSlotWords; }

  const std::string name_;
  const File file_;
  const std::uint64_t slots_;
  std::uint64_t* words_ = nullptr;
};

std::string ring_name() { return "remotecl-test-" + std::to_string(::getpid()); }

std::uint64_t number_in(const std::string& frame) {
  std::uint64_t number = ~std::uint64_t{0};
  if (frame.size() == sizeof number) std::memcpy(&number, frame.data(), sizeof number);
  return number;
}

TEST(RingSource, AReaderThatFellBehindTakesNoSlotThatIsBeingWritten) {
  Ring ring(ring_name(), 4);
  StreamProgram program({"memory:" + ring_name()});
  const std::string name = "memory:" + ring_name() + "?wait=50";
  std::string frame;
  FrameInfo info;
  ring.write();
  ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
  for (int i = 1; i < 10; ++i) ring.write();
  ring.begin();  // frame 10, over frame 6
  ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
  EXPECT_EQ(number_in(frame), 7u);
  EXPECT_EQ(info.dropped, 6u);
}

TEST(RingSource, ARingOfOneSlotHasItsOnlyFrame) {
  Ring ring(ring_name(), 1);
  StreamProgram program({"memory:" + ring_name()});
  std::string frame;
  FrameInfo info;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ring.write();
    ASSERT_EQ(program.read("memory:" + ring_name() + "?wait=50", frame, info), 0) << program.why();
    EXPECT_EQ(number_in(frame), i);
  }
}

TEST(RingSource, FindsAWriterThatWasRestarted) {
  StreamProgram program({"memory:" + ring_name()});
  const std::string name = "memory:" + ring_name() + "?wait=300";
  std::string frame;
  FrameInfo info;
  std::optional<Ring> ring(std::in_place, ring_name(), 4);
  for (int i = 0; i < 3; ++i) ring->write();
  ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
  ring.reset();
  ring.emplace(ring_name(), 4);
  ring->write(100);
  EXPECT_EQ(program.read(name, frame, info), kGone);
  EXPECT_NE(program.why().find("another writer"), std::string::npos) << program.why();
  ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
  EXPECT_EQ(number_in(frame), 100u);
}

}  // namespace
}  // namespace remotecl::plugins
