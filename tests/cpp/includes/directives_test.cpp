#include "runtime/includes/directives.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

std::string all(std::string_view text) {
  std::string result;
  for (const Directive& directive : directives_of(text)) {
    EXPECT_EQ(directive.operand.size(), directive.offsets.size());
    result += directive.name + "(" + directive.operand + ")";
  }
  return result;
}

TEST(DirectivesTest, AreAtTheBeginningOfLines) {
  EXPECT_EQ(all("#define A 1\n  # /* c */ if  B\nint x; #define C\n/* a\n */ #endif // x\n#"),
            "define(A 1)if(B)endif()()");
  EXPECT_EQ(all("int x; /*\n#define A\n*/ #define B\n#define C"), "define(C)");
  EXPECT_EQ(all("%:define A\n\?\?=define B"), "define(A)define(B)");
}

TEST(DirectivesTest, GoOnBehindABackslash) {
  EXPECT_EQ(all("#def\\\nine A \\\n B\\  \n C\n// x \\\n#define D\n#define E \?\?/\n F"), "define(A B C)define(E F)");
}

TEST(DirectivesTest, LeaveTextsAlone) {
  EXPECT_EQ(all("char* s = \"/*\";\n#define A \"//\" '\"' // c\n#define B"), "define(A \"//\" '\"')define(B)");
  EXPECT_EQ(all("don't\n#define A\n\"\\\"\n#define B"), "define(A)define(B)");
  EXPECT_EQ(all("#include <a//b.h> // c\n#include \"a//b.h\""), "include(<a//b.h>)include(\"a//b.h\")");
}

TEST(DirectivesTest, SayWhereTheirOperandIs) {
  const std::string text = "#include /* a */ \\\n  <b.h>  // c";
  const auto directives = directives_of(text);
  ASSERT_EQ(directives.size(), 1u);
  const auto& offsets = directives[0].offsets;
  EXPECT_EQ(text.substr(offsets.front(), offsets.back() + 1 - offsets.front()), "<b.h>");
}

TEST(DirectivesTest, AnyTextHasAnEnd) {
  for (const char* text :
       {"#", "#\\", "/*", "/", "#include", "#include \"", "#include <", "\\\n", "\?\?/", "%:", "#/*"}) {
    all(text);
  }
}

}  // namespace
}  // namespace remotecl
