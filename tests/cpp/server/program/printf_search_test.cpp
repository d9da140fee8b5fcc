// Which programs print: what their text says, and what only their compiler knows.
#include "server/program/printf_search.h"

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using server::mentions_printf;
using server::source_may_print;
using server::spirv_may_print;

TEST(PrintfSearchTest, FindsTheNameInBinaries) {
  EXPECT_TRUE(mentions_printf(std::string_view("\0\1vprintf\0", 10)));
  // As in PoCL's binaries of kernels that do not print.
  EXPECT_FALSE(mentions_printf("_printf_buffer_printf_buffer_capacity__const.__pocl_printf_float_libc.str.L"));
  EXPECT_TRUE(mentions_printf("_printf_buffer_capacity__pocl_printf_ulong"));
}

TEST(PrintfSearchTest, FindsTheNameInSources) {
  for (const char* text : {"kernel void k() { printf(\"\"); }", "#define P printf", "/* a */ printf(\"//\")",
                           "\"/*\" printf()", "'\"' /* ' */ printf()", "// \"\nprintf()", "#error can't\nprintf()",
                           "/\\\n* \" */ \"//\" printf()", "\"a\\ \n b\"; \"//\" printf()"}) {
    EXPECT_TRUE(source_may_print(text)) << text;
  }
  for (const char* text :
       {"kernel void k() { print(); }", "// as printf does", "/* printf\n printf */ kernel void k() {}",
        "\"//\" // printf", "\"\\\"//\" /* printf", "/* // */ '/' // printf"}) {
    EXPECT_FALSE(source_may_print(text)) << text;
  }
}

TEST(PrintfSearchTest, FindsWhatMayMakeTheName) {
  for (const char* text : {"#define K pri##ntf", "#define K pri%:%:ntf", "#define K pri\?\?=\?\?=ntf", "pri\\\nntf()",
                           "pri\\ \t\r\nntf()", "pri\\\n\\\nntf()", "pri\?\?/\nntf()"}) {
    EXPECT_TRUE(source_may_print(text)) << text;
  }
  for (const char* text :
       {"kernel void k() {}", "#define K(a) \\\n  do { a; } \\\n  while (0)", "\"a\\n\\\\\"", "# # \\"}) {
    EXPECT_FALSE(source_may_print(text)) << text;
  }
}

std::string module_of(std::initializer_list<std::uint32_t> words) {
  return {reinterpret_cast<const char*>(words.begin()), words.size() * sizeof(std::uint32_t)};
}

TEST(PrintfSearchTest, FindsTheNumberInSpirv) {
  constexpr std::uint32_t kMagic = 0x07230203, kExtended = (6u << 16) | 12;
  EXPECT_FALSE(spirv_may_print(module_of({kMagic, 0x10000, 0, 9, 0, kExtended, 2, 3, 1, 183, 4})));
  EXPECT_TRUE(spirv_may_print(module_of({kMagic, 0x10000, 0, 9, 0, kExtended, 2, 3, 1, 184, 4})));
  EXPECT_TRUE(spirv_may_print(module_of({kMagic, 0x10000, 0, 9, 0, 0}))) << "malformed";
  EXPECT_TRUE(spirv_may_print(module_of({kMagic, 0x10000, 0, 9, 0, (7u << 16) | 12, 2}))) << "cut off";
  EXPECT_TRUE(spirv_may_print(module_of({0x03022307, 0x10000, 0, 9, 0}))) << "the other order of bytes";
  EXPECT_TRUE(spirv_may_print(""));
}

class HiddenPrintfTest : public ServerTest {
 protected:
  // What the client gets from the kernel k.
  std::string output_of(WireClient& client, std::string_view source, std::string_view options = {}) {
    const ObjectId program = client.id();
    client.build(program, source, options)->builds.for_each([](const DeviceBuild& build) {
      EXPECT_EQ(build.error, 0) << build.log;
    });
    const ObjectId queue = client.make_queue();
    client.enqueue(queue, client.make_kernel(program, "k"), 1, {});
    client.finish(queue);
    std::string text;
    while (client.has<KernelOutput>()) text += as_text(client.wait<KernelOutput>()->text);
    return text;
  }
};

TEST_F(HiddenPrintfTest, WhatIsPrintedReachesItsClientHoweverItIsCalled) {
  WireClient client(address());
  EXPECT_EQ(output_of(client, "kernel void k() { printf(\"plain\\n\"); }"), "plain\n");
  EXPECT_EQ(output_of(client, "#define CAT(a, b) a##b\nkernel void k() { CAT(pri, ntf)(\"pasted\\n\"); }"), "pasted\n");
  EXPECT_EQ(output_of(client, "kernel void k() { CAT(pri, ntf)(\"option\\n\"); }", "-DCAT(a,b)=a##b"), "option\n");
  EXPECT_EQ(output_of(client, "kernel void k() { pri\\\nntf(\"lines\\n\"); }"), "lines\n");
}

// Programs that do not print are not slowed down as those are that do.
TEST_F(HiddenPrintfTest, OthersDoNotPrint) {
  server::NativeDriver driver("0");
  server::Device& device = *driver.device(0);
  EXPECT_FALSE(server::compiler_finds_printf(device, "#define CAT(a, b) a##b\nkernel void CAT(k, 1)() {}", ""));
  EXPECT_FALSE(
      server::compiler_finds_printf(device, "#ifdef DEBUG\n#define LOG printf\n#endif\nkernel void k() {}", ""));
  EXPECT_TRUE(
      server::compiler_finds_printf(device, "#define CAT(a, b) a##b\nkernel void k() { CAT(pri, ntf)(\"\"); }", ""));
}

}  // namespace
}  // namespace remotecl::testing
