#include "runtime/includes/include_names.h"

#include <gtest/gtest.h>

#include <chrono>

namespace remotecl {
namespace {

// The names of the last mention.
std::string last(const std::string& text, const std::string& options = "") {
  IncludeNames names;
  names.add_options(options);
  names.add(text);
  if (names.mentions().empty()) return "none";
  bool is_complete = true;
  std::string result;
  for (const IncludeName& name : names.names_of(names.mentions().back(), is_complete)) result += name.text();
  return is_complete ? result : "too many";
}

TEST(IncludeNamesTest, WrittenOnes) {
  EXPECT_EQ(last("#include \"a b.h\""), "\"a b.h\"");
  EXPECT_EQ(last("#include<a.h>"), "<a.h>");
  EXPECT_EQ(last("#if X && __has_include(<a.h>) // b"), "<a.h>");
  EXPECT_EQ(last("#elif defined(__has_include) && __has_include_next (\"a)b.h\")"), "\"a)b.h\"");
  EXPECT_EQ(last("#pragma include \"a\""), "none");
}

TEST(IncludeNamesTest, MacrosAsCExpandsThem) {
  EXPECT_EQ(last("#define N <a.h>\n#include N"), "<a.h>");
  EXPECT_EQ(last("#define M N\n#define N \"a.h\"\n#include M"), "\"a.h\"");
  const std::string quotes = "#define Q(x) #x\n#define S(x) Q(x)\n";
  EXPECT_EQ(last(quotes + "#include S(a/b-1.2.h)"), "\"a/b-1.2.h\"");
  EXPECT_EQ(last(quotes + "#define D /x/y\n#include Q(D/a.h)"), "\"D/a.h\"");
  EXPECT_EQ(last(quotes + "#define D /x/y\n#include S(D/a.h)"), "\"/x/y/a.h\"\"D/a.h\"");
  EXPECT_EQ(last("#define C(a, b) <a##b.h>\n#include C(x, y)"), "<xy.h>");
  EXPECT_EQ(last("#define V(a, ...) <a/__VA_ARGS__>\n#include V(x,y,z)"), "<x/y,z>");
  EXPECT_EQ(last("#define V(a, rest...) <rest>\n#include V(x, y)"), "<y>");
  EXPECT_EQ(last("#define F() <a.h>\n#define N F\n#include N()"), "<a.h>");
  EXPECT_EQ(last("#define N N\n#include N"), "");
  EXPECT_EQ(last("#define A B\n#define B A\n#include A"), "");
}

TEST(IncludeNamesTest, EachDefinitionOfAMacro) {
  EXPECT_EQ(last("#ifdef X\n#define N <a.h>\n#else\n#define N <b.h>\n#endif\n#include N"), "<a.h><b.h>");
  EXPECT_EQ(last("#include N", "-DN=<a.h>"), "<a.h>");
  EXPECT_NE(last("#include S(D/x.h)", "-D D=\"/a\" -D Q(x)=#x -DS(x)=Q(x)").find("\"/a/x.h\""), std::string::npos);
}

TEST(IncludeNamesTest, BoundedInTime) {
  std::string doubling = "#define A0 x\n", long_chain, deep = "#define f(x) x\n#include ", many = "#include N\n";
  for (int i = 1; i < 60; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    doubling += "#define A" + n + " A" + before + " A" + before + "\n";
  }
  for (int i = 0; i < 100'000; ++i) long_chain += "#define B" + std::to_string(i) + " B" + std::to_string(i + 1) + "\n";
  for (int i = 0; i < 100'000; ++i) deep += "f(";
  for (int i = 0; i < 100'000; ++i) many += "#define N <" + std::to_string(i) + ">\n";
  std::string different = doubling;
  for (int i = 0; i < 100'000; ++i) different += "#include A59 " + std::to_string(i) + "\n";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(last(doubling + "#include A59"), "too many");
  EXPECT_EQ(last(long_chain + "#include B0"), "too many");
  EXPECT_EQ(last(deep), "too many");
  EXPECT_EQ(last(deep + std::string(100'000, ')')), "too many");
  EXPECT_EQ(last(many), "too many");
  IncludeNames names;
  names.add(different);
  bool is_complete = true;
  for (const IncludeMention& mention : names.mentions()) names.names_of(mention, is_complete);
  EXPECT_FALSE(is_complete);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << "it would take for ever";
}

TEST(IncludeNamesTest, ChangedLinesKeepTheirNumbers) {
  const std::string text = "a\n#include \\\n N(a, \\\n b) // c\nd";
  IncludeNames names;
  names.add(text);
  ASSERT_EQ(names.mentions().size(), 1u);
  EXPECT_EQ(changed(text, {{names.mentions()[0].begin, names.mentions()[0].end, "<x>"}}),
            "a\n#include \\\n <x>\\\n // c\nd");
}

}  // namespace
}  // namespace remotecl
