#include "runtime/base/settings.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>
#include <vector>

namespace remotecl::settings {
namespace {

std::vector<std::string> g_lines;

// A variable of each test's own: what was reported once is not reported again.
class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    g_lines.clear();
    report_through([](const std::string& line) { g_lines.push_back(line); });
  }
  ~SettingsTest() override { ::unsetenv(name_.c_str()); }

  const char* set(const std::string& value) {
    ::setenv(name_.c_str(), value.c_str(), 1);
    return name();
  }
  const char* name() const { return name_.c_str(); }

 private:
  const std::string name_ = std::string("REMOTECL_") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SettingsTest, WordsInAnyCaseMeanOnAndOff) {
  for (const char* word : {"1", "on", "yes", "true", "ON", "Yes", "tRUE"}) {
    EXPECT_EQ(on_or_off(set(word)), std::optional(true)) << word;
  }
  for (const char* word : {"0", "off", "no", "false", "OFF", "No", "False"}) {
    EXPECT_EQ(on_or_off(set(word)), std::optional(false)) << word;
  }
  EXPECT_TRUE(g_lines.empty());
}

TEST_F(SettingsTest, EmptyIsNotSet) {
  EXPECT_EQ(on_or_off(name()), std::nullopt);
  set("");
  EXPECT_EQ(on_or_off(name()), std::nullopt);
  EXPECT_EQ(number(name(), "things", 0, 9), std::nullopt);
  EXPECT_EQ(seconds(name(), 0, 9), std::nullopt);
  EXPECT_FALSE(is_set_to(name(), "word"));
  EXPECT_TRUE(g_lines.empty());
}

TEST_F(SettingsTest, WhatMeansNothingIsToldOnce) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(on_or_off(set("banana")), std::nullopt);
  ASSERT_EQ(g_lines.size(), 1u);
  EXPECT_EQ(g_lines[0], "REMOTECL_WhatMeansNothingIsToldOnce=banana means nothing and is ignored; it takes on or off");
  EXPECT_EQ(on_or_off(set("maybe")), std::nullopt);
  EXPECT_EQ(g_lines.size(), 2u);
}

TEST_F(SettingsTest, ALineIsOneLineAndNotLong) {
  EXPECT_EQ(on_or_off(set("a\nb\x1b[31m" + std::string(1000, 'c'))), std::nullopt);
  ASSERT_EQ(g_lines.size(), 1u);
  EXPECT_EQ(g_lines[0].find('\n'), std::string::npos);
  EXPECT_EQ(g_lines[0].find('\x1b'), std::string::npos);
  EXPECT_LT(g_lines[0].size(), 200u);
}

TEST_F(SettingsTest, NumbersAreWholeAndWithinBounds) {
  EXPECT_EQ(number(set("20"), "microseconds", 0, 100), std::optional<std::uint64_t>(20));
  EXPECT_EQ(number(set("0"), "microseconds", 0, 100), std::optional<std::uint64_t>(0));
  EXPECT_EQ(number(set("Off"), "microseconds", 0, 100), std::optional<std::uint64_t>(0));
  EXPECT_TRUE(g_lines.empty());
  const char* const wrong[] = {"x", "5x", "5.5", "-1", "101", "on", "99999999999999999999", " 5"};
  for (const char* value : wrong) EXPECT_EQ(number(set(value), "microseconds", 0, 100), std::nullopt) << value;
  EXPECT_EQ(g_lines.size(), std::size(wrong));
  EXPECT_NE(g_lines[0].find("=x means nothing and is ignored; it takes microseconds, 0 to 100, or off"),
            std::string::npos);
  // Where there is no 0 there is no off.
  EXPECT_EQ(number(set("off"), "connections", 1, 8), std::nullopt);
  EXPECT_NE(g_lines.back().find("=off means nothing and is ignored; it takes connections, 1 to 8"), std::string::npos);
}

TEST_F(SettingsTest, SecondsHaveAPointInEveryLanguage) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  EXPECT_EQ(seconds(set("0.5"), 0, 60), std::optional(0.5));
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(seconds(set("no"), 0, 60), std::optional(0.0));
  EXPECT_TRUE(g_lines.empty());
  for (const char* value : {"abc", "nan", "inf", "-1", "60.5", "0,5"}) {
    EXPECT_EQ(seconds(set(value), 0, 60), std::nullopt) << value;
  }
  EXPECT_EQ(g_lines.size(), 6u);
}

TEST_F(SettingsTest, AWordOrOff) {
  EXPECT_TRUE(is_set_to(set("Coherent"), "coherent"));
  EXPECT_FALSE(is_set_to(set("off"), "coherent"));
  EXPECT_TRUE(g_lines.empty());
  EXPECT_FALSE(is_set_to(set("yes"), "coherent"));
  ASSERT_EQ(g_lines.size(), 1u);
  EXPECT_NE(g_lines[0].find("it takes coherent or off"), std::string::npos);
}

}  // namespace
}  // namespace remotecl::settings
