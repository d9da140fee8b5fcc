#include "runtime/client/support/kernel_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

namespace remotecl {
namespace {

TEST(KernelTextTest, NothingButLinesAndTabsControlsATerminal) {
  KernelText text;
  EXPECT_EQ(text.for_terminal(as_bytes("one\ttwo\n")), "one\ttwo\n");
  EXPECT_EQ(text.for_terminal(as_bytes("\x1b]0;title\a\rforged\b\x7f\n")), "\\x1b]0;title\\x07\\x0dforged\\x08\\x7f\n");
  EXPECT_EQ(text.for_terminal(as_bytes("5 \xc2\xb5s \xc3\xa9\n")), "5 \xc2\xb5s \xc3\xa9\n");
  EXPECT_EQ(text.for_terminal(as_bytes("\xc2\x9b"
                                       "31m")),
            "\\x9b31m");
}

TEST(KernelTextTest, NoPieceHidesAControlCharacterFromTheNext) {
  KernelText text;
  EXPECT_EQ(text.for_terminal(as_bytes("a\xc2")), "a");
  EXPECT_EQ(text.for_terminal(as_bytes("\x9b"
                                       "b\xc2")),
            "\\x9bb");
  EXPECT_EQ(text.for_terminal(as_bytes("\xb5s")), "\xc2\xb5s");
}

// Gives what `work` leaves at the other end of what stands for standard output.
template <class Work>
std::string written_to(int output, int other_end, Work work) {
  std::fflush(stdout);
  const int real = ::dup(STDOUT_FILENO);
  ::dup2(output, STDOUT_FILENO);
  work();
  std::fflush(stdout);
  ::dup2(real, STDOUT_FILENO);
  ::close(real);
  char bytes[256];
  const ssize_t count = ::read(other_end, bytes, sizeof bytes);
  return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST(KernelTextTest, OnlyATerminalGetsItChanged) {
  KernelText text;
  const auto write = [&] {
    text.add(as_bytes("\x1b[2J!"));
    text.write();
  };
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(written_to(ends[1], ends[0], write), "\x1b[2J!");
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const int inside = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(inside, 0);
  EXPECT_EQ(written_to(inside, terminal, write), "\\x1b[2J!");
  for (const int descriptor : {ends[0], ends[1], inside, terminal}) ::close(descriptor);
}

// The reader has other servers to read, too.
TEST(KernelTextTest, WhoAddsDoesNotWaitForTheReaderOfAFullPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string line(1000, 'x');
  constexpr int kLines = 1000;  // more than a pipe holds
  KernelText text;
  std::string seen;
  std::thread reader;
  std::fflush(stdout);
  const int real = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  for (int i = 0; i < kLines; ++i) text.add(as_bytes(line));
  reader = std::thread([&] {
    char bytes[4096];
    while (seen.size() < kLines * line.size()) {
      const ssize_t count = ::read(ends[0], bytes, sizeof bytes);
      if (count <= 0) break;
      seen.append(bytes, static_cast<std::size_t>(count));
    }
  });
  text.write();
  reader.join();
  ::dup2(real, STDOUT_FILENO);
  EXPECT_TRUE(seen == std::string(kLines * line.size(), 'x'));
  for (const int descriptor : {ends[0], ends[1], real}) ::close(descriptor);
}

}  // namespace
}  // namespace remotecl
