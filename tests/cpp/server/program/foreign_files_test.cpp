#include "server/program/foreign_files.h"

#include <gtest/gtest.h>

#include "server/completion/cl.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using server::foreign_option;

TEST(ForeignFilesTest, OptionsThatNameFilesAreRefused) {
  for (const char* options : {"-I/etc",
                              "-I /etc",
                              "-DX -I../..",
                              "-include /etc/passwd",
                              "-include key.pem",
                              "--include=/etc/passwd",
                              "-imacros x",
                              "-isystem /usr",
                              "@/tmp/options",
                              "-DX @options",
                              "-fplugin=/tmp/x.so",
                              "-Xclang -load",
                              "-load /tmp/x.so",
                              "-fpass-plugin=x.so",
                              "-mllvm -load=x.so",
                              "-fprofile-use=/etc/passwd",
                              "-save-temps",
                              "-o out",
                              "/etc/passwd",
                              "-D X /etc/passwd",
                              "-cl-some-file=/etc/passwd",
                              "\"-I/etc\"",
                              "-DX=\" -I/etc\"",
                              "-I",
                              "-Wp,-I/etc",
                              "-\\I/etc",
                              "-'I'/etc"}) {
    EXPECT_NE(foreign_option(options).find("is refused"), std::string::npos) << options;
  }
}

TEST(ForeignFilesTest, OptionsOfPrograms) {
  for (const char* options :
       {"", " ", "-DX=1 -w", "-D X=a/b -D Y", "-DPATH=\"/usr/bin\"", "-U X", "-cl-std=CL3.0 -cl-fast-relaxed-math",
        "-cl-kernel-arg-info -Werror -Wall -O3 -g", "-x spir -spir-std=1.2", "-create-library -enable-link-options",
        "-cl-nv-maxrregcount 32", "-fno-builtin -mavx2 -ffp-contract=off"}) {
    EXPECT_EQ(foreign_option(options), "") << options;
  }
}

using ForeignFilesServerTest = ServerTest;

TEST_F(ForeignFilesServerTest, ABuildIsRefusedWithAnErrorAndWords) {
  WireClient client(address());
  const auto build = [&](std::string_view source, std::string_view options) {
    const ObjectId program = client.id();
    const std::uint32_t device = 0;
    client.add(CreateProgramWithSource{program, as_bytes(source)});
    client.send(BuildProgram{program, client.id(), Array<std::uint32_t>(&device, 1), options, {}, {}});
    std::pair<std::int32_t, std::string> outcome;
    client.wait<BuildDone>()->builds.for_each([&](const DeviceBuild& build) {
      outcome = {build.error, std::string(build.log)};
    });
    return outcome;
  };
  const auto options = build("kernel void f() {}", "-I/etc");
  EXPECT_EQ(options.first, CL_INVALID_BUILD_OPTIONS);
  EXPECT_NE(options.second.find("\"-I/etc\" is refused"), std::string::npos) << options.second;
  const auto source = build("#include \"/etc/hostname\"\nkernel void f() {}", "");
  EXPECT_EQ(source.first, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(source.second.find("absolute path"), std::string::npos) << source.second;
  EXPECT_EQ(build("kernel void f() {}", "-DX=1").first, CL_SUCCESS);
}

}  // namespace
}  // namespace remotecl::testing
