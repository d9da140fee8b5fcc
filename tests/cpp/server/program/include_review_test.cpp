#include "server/program/include_review.h"

#include <gtest/gtest.h>

namespace remotecl::testing {
namespace {

using server::ClientFiles;
using server::IncludeReview;

std::string refusal(const std::string& source, const ClientFiles& files = {}) {
  return IncludeReview({source}, files).refusal();
}

TEST(IncludeReviewTest, IncludesOfTheServersFilesAreRefused) {
  for (const char* source : {"#include \"/etc/passwd\"",
                             "#include </etc/passwd>",
                             "  #  include\t\"/etc/passwd\"",
                             "int x;\n#import </a>",
                             "#include_next </etc/passwd>",
                             "#embed \"/etc/passwd\"",
                             "#inc\\\nlude \"/etc/passwd\"",
                             "#/**/include \"/etc/passwd\"",
                             "/* a\n */ #include \"/etc/passwd\"",
                             "%:include \"/etc/passwd\"",
                             "\?\?=include \"/etc/passwd\"",
                             "#include \"../../../etc/passwd\"",
                             "#define P \"/etc/passwd\"\n#include P",
                             "#inc\\  \nlude \"/etc/passwd\"",
                             "char c = '\"'; // \"\n#include \"/etc/passwd\"",
                             "#include \"a",
                             "#include P\n#if X\n#define P </etc/passwd>\n#endif",
                             "#define Q(x) #x\n#define P Q(/etc/passwd)\n#include P",
                             "#define Q(x) <x>\n#include Q(../../etc/passwd)",
                             "#define C(a, b) a##b\n#define PQ \"/a\"\n#include C(P, Q)"}) {
    EXPECT_NE(refusal(source).find("is refused"), std::string::npos) << source;
  }
  for (const char* options : {"-DP=\\\"/etc/passwd\\\"", "-D P=\"/etc/passwd\"", "-D 'P=</etc/passwd>'"}) {
    EXPECT_NE(refusal("#include P", {options, {}, {}}).find("is refused"), std::string::npos) << options;
  }
}

TEST(IncludeReviewTest, OtherIncludesAreTheCompilersToFind) {
  for (const char* source :
       {"", "kernel void f() {}", "#include \"a.h\"\n#include <sub/b.h>", "// #include \"/etc/passwd\"",
        "/*\n#include \"/etc/passwd\"\n*/", "#define include 1", "constant char s[] = \"#include </etc/passwd>\";",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable", "int a = b ? c\n : include;", "#included \"/x\"",
        "#define P <a.h>\n#include P", "#ifdef OF_THE_DEVICE\n#include OF_THE_DEVICE\n#endif"}) {
    EXPECT_EQ(refusal(source), "") << source;
  }
}

TEST(IncludeReviewTest, PathsUpwardsLeadToWhatTheClientHasSentOnly) {
  const IncludeFolder folders[] = {{"/home/user/kernels"}};
  const HeaderFile headers[] = {{"/home/user/common/types.h", {}}, {"/home/user/kernels/sub/a.h", {}}};
  const ClientFiles files{{}, std::span<const IncludeFolder>(folders), std::span<const HeaderFile>(headers)};
  EXPECT_EQ(refusal("#include \"../common/types.h\"", files), "");
  EXPECT_EQ(refusal("#include \"../../common/types.h\"", files), "") << "from the folder of a.h";
  EXPECT_NE(refusal("#include \"../common/other.h\"", files), "");
  EXPECT_NE(refusal("#include \"../../../../../home/user/common/types.h\"", files), "")
      << "it would leave the folder of the client's files here";
}

TEST(IncludeReviewTest, AbsoluteNamesOfFilesThatWereSentLeadToThem) {
  const HeaderFile headers[] = {{"/home/user/a.h", {}}, {"/home/user/b>c.h", {}}};
  const ClientFiles files{"-DDIR=/home/user", {}, std::span<const HeaderFile>(headers)};
  const auto rewritten = [&files](const std::string& source) {
    const IncludeReview review({source}, files);
    EXPECT_EQ(review.refusal(), "") << source;
    EXPECT_TRUE(review.names_only_sent()) << source;
    return review.rewritten(0).value_or(source);
  };
  EXPECT_EQ(rewritten("#include \"/home/user/../user/a.h\"\n"), "#include <home/user/a.h>\n");
  EXPECT_EQ(rewritten("#include \"/home/user/b>c.h\" // c"), "#include \"home/user/b>c.h\" // c");
  EXPECT_EQ(rewritten("#define S(x) #x\n#define T(x) S(x)\n#define a z\n#include \\\n T(DIR/a.h) \\\n /* c */\nint x;"),
            "#define S(x) #x\n#define T(x) S(x)\n#define a z\n#include \\\n <home/user/a.h> \\\n /* c */\nint x;");
  EXPECT_EQ(rewritten("#if __has_include(\"/home/user/a.h\") && 1\n#endif"),
            "#if __has_include(<home/user/a.h>) && 1\n#endif");
  EXPECT_EQ(rewritten("#include <a.h>"), "#include <a.h>");
  const IncludeReview asks({"#if __has_include(\"/etc/passwd\")\n#endif"}, files);
  EXPECT_EQ(asks.rewritten(0), "#if __has_include(<etc/passwd>)\n#endif");
  EXPECT_FALSE(asks.names_only_sent());
  EXPECT_NE(refusal("#define P \"/home/user/a.h\"\n#include P\n#undef P\n#define P \"/home/user/b>c.h\"\n", files), "");
}

}  // namespace
}  // namespace remotecl::testing
