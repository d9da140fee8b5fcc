#include "server/driver/stdout_capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace remotecl::server {
namespace {

// Takes text as a slow or quick receiver would.
struct Text {
  std::string text;
  StdoutCapture::Sink sink() {
    return [this](std::string_view piece) { text += piece; };
  }
};

TEST(StdoutCaptureTest, TakesBufferedAndUnbufferedTextInOrder) {
  StdoutCapture capture;
  Text text;
  capture.run(
      [] {
        std::printf("one ");
        std::fflush(stdout);
        [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, "two ", 4);
        std::printf("three");
      },
      text.sink());
  EXPECT_EQ(text.text, "one two three");
}

TEST(StdoutCaptureTest, TakesMoreThanAPipeHolds) {
  StdoutCapture capture;
  Text text;
  const std::string line(1023, 'x');
  capture.run(
      [&] {
        for (int i = 0; i < 4096; ++i) std::printf("%s\n", line.c_str());
      },
      text.sink());
  EXPECT_EQ(text.text.size(), 4096u * 1024);
}

TEST(StdoutCaptureTest, StandardOutputIsItselfAgain) {
  StdoutCapture capture;
  Text outer, inner, after;
  // The outer capture stands for the real standard output.
  capture.run(
      [&] {
        std::printf("before ");
        StdoutCapture().run([] { std::printf("inside"); }, inner.sink());
        std::printf("after");
      },
      outer.sink());
  EXPECT_EQ(outer.text, "before after");
  EXPECT_EQ(inner.text, "inside");
}

TEST(StdoutCaptureTest, ThreadsTakeTurns) {
  StdoutCapture capture;
  std::vector<Text> texts(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      capture.run(
          [i] {
            for (int n = 0; n < 1000; ++n) std::printf("%zu", i);
          },
          texts[i].sink());
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(texts[i].text, std::string(1000, static_cast<char>('0' + i)));
  }
}

}  // namespace
}  // namespace remotecl::server
