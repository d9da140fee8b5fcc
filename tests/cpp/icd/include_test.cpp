// Files that programs include, by every way to name them. The servers' processes run in other folders than this one.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

namespace fs = std::filesystem;

class IncludeTest : public RemoteTest {
 protected:
  IncludeTest() {
    std::string pattern = (fs::temp_directory_path() / "remotecl-includes-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder");
    folder_ = pattern;
  }
  ~IncludeTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return path(name);
  }
  // The value that a kernel of this program computes, on the first server.
  int value_of(const std::string& source, const std::string& options = "") {
    const Owned<cl_program> program = make_program(context_, source.c_str());
    const cl_int error = clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr);
    EXPECT_EQ(error, CL_SUCCESS) << log_of(program);
    if (error != CL_SUCCESS) return -1;
    return run_on(program);
  }
  int run_on(cl_program program) {
    const Owned<cl_kernel> kernel = make_kernel(program, "answer");
    const Owned<cl_mem> data = make_buffer(context_, numbers(1));
    check(set_arg(kernel, 0, data));
    check(run(queue_, kernel, 1));
    return read<int>(queue_, data, 1)[0];
  }
  std::string log_of(cl_program program) {
    std::size_t size = 0;
    check(clGetProgramBuildInfo(program, device(0), CL_PROGRAM_BUILD_LOG, 0, nullptr, &size));
    std::string log(size, 0);
    check(clGetProgramBuildInfo(program, device(0), CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr));
    return log.c_str();
  }
  std::string failed_log(const std::string& source, const std::string& options = "") {
    const Owned<cl_program> program = make_program(context_, source.c_str());
    EXPECT_NE(clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr), CL_SUCCESS);
    return log_of(program);
  }

  static constexpr char kAnswer[] = "\nkernel void answer(global int* to) { *to = VALUE; }\n";
  fs::path folder_;
};

TEST_F(IncludeTest, ByAnAbsolutePath) {
  const std::string file = write("value.h", "#define VALUE 41\n");
  EXPECT_EQ(value_of("#include \"" + file + "\"" + kAnswer), 41);
  EXPECT_EQ(value_of("#include <" + file + ">" + kAnswer), 41);
  write("value.h", "#define VALUE 42\n");
  EXPECT_EQ(value_of("#include \"" + file + "\"" + kAnswer), 42) << "the file has changed";
}

TEST_F(IncludeTest, ByAnAbsolutePathFromAnIncludedFile) {
  const std::string file = write("deep/value.h", "#include \"other.h\"\n#define VALUE OTHER\n");
  write("deep/other.h", "#define OTHER 43\n");
  write("inc/first.h", "#include \"" + file + "\"\n");
  EXPECT_EQ(value_of(std::string("#include <first.h>") + kAnswer, "-I " + path("inc")), 43);
}

// As hashcat does.
TEST_F(IncludeTest, ByMacrosOfTheOptions) {
  write("6.2.6/h/inc.h", "#ifndef H\n#define H\n#include S(DIR/value.h)\n#endif\n");
  write("6.2.6/h/value.h", "#define h 1\n#define VALUE 44\n");
  const std::string source =
      std::string("#ifdef STATIC\n#include S(DIR/inc.h)\n#include S(DIR/inc.h)\n#endif") + kAnswer;
  const std::string macros = " -D XS(x)=#x -D S(x)=XS(x) -D STATIC";
  EXPECT_EQ(value_of(source, "-D DIR=\"" + path("6.2.6/h") + "\"" + macros), 44);
  EXPECT_EQ(value_of(source, "-D DIR=" + path("6.2.6/h") + macros), 44);
}

TEST_F(IncludeTest, ByMacrosOfTheSource) {
  write("inc/value.h", "#define VALUE 45\n");
  const std::string options = "-I " + path("inc");
  EXPECT_EQ(value_of(std::string("#define NAME \"value.h\"\n#include NAME") + kAnswer, options), 45);
  EXPECT_EQ(value_of(std::string("#define NAME(x) <x.h>\n#include NAME(value)") + kAnswer, options), 45);
  EXPECT_EQ(value_of("#define NAME \"" + path("inc/value.h") + "\"\n#include NAME" + kAnswer), 45);
}

// As libclc does: a file that includes what the including one has defined.
TEST_F(IncludeTest, ByAMacroWithSeveralValues) {
  write("inc/each.h", "#include BODY\n#undef BODY\n");
  write("inc/one.h", "constant int one = 40;\n");
  write("inc/two.h", "constant int two = 6;\n");
  const std::string source = "#define BODY \"one.h\"\n#include <each.h>\n#define BODY <two.h>\n#include <each.h>\n";
  EXPECT_EQ(value_of(source + "#define VALUE one + two" + kAnswer, "-I " + path("inc")), 46);
}

TEST_F(IncludeTest, ByAMacroThatTheDeviceDecides) {
  write("inc/cpu.h", "#define VALUE 47\n");
  write("inc/other.h", "#define VALUE 47\n");
  const std::string source =
      "#if defined(__POCL_DEVICE__) || defined(POCL_DEVICE_ADDRESS_BITS) || __OPENCL_VERSION__ >= 300\n"
      "#define NAME \"cpu.h\"\n#else\n#define NAME \"other.h\"\n#endif\n#include NAME";
  EXPECT_EQ(value_of(source + kAnswer, "-I " + path("inc")), 47);
}

TEST_F(IncludeTest, AskingWhetherAFileIsThere) {
  const std::string file = write("value.h", "#define VALUE 48\n");
  EXPECT_EQ(value_of("#if __has_include(\"" + file + "\")\n#include \"" + file + "\"\n#endif" + kAnswer), 48);
  EXPECT_EQ(
      value_of(std::string("#if __has_include(\"/etc/hostname\")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif") +
               kAnswer),
      fs::exists("/etc/hostname") ? 1 : 2);
}

TEST_F(IncludeTest, AfterACommentAndAcrossLines) {
  const std::string file = write("value.h", "#define VALUE __LINE__ + 49\n");
  write("line.h", "#define AT __LINE__\n");
  const std::string split = "/* a */ # /* b\n */ include \\\n  \"" + file + "\" // c";
  EXPECT_EQ(value_of(split + "\nconstant int at = __LINE__;\n#undef VALUE\n#define VALUE at" + kAnswer), 4);
}

TEST_F(IncludeTest, ProgramsGivenAsHeadersComeFirst) {
  write("value.h", "#define VALUE 1\n");
  const Owned<cl_program> header = make_program(context_, "#define VALUE 50\n");
  const Owned<cl_program> program = make_program(context_, (std::string("#include \"value.h\"") + kAnswer).c_str());
  const char* name = "value.h";
  check(
      clCompileProgram(program, 0, nullptr, ("-I " + path("")).c_str(), 1, header.pointer(), &name, nullptr, nullptr));
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> linked(
      clLinkProgram(context_, 0, nullptr, "", 1, program.pointer(), nullptr, nullptr, &error));
  check(error);
  EXPECT_EQ(run_on(linked), 50);
}

TEST_F(IncludeTest, TheProgramSeesItsOwnNames) {
  const std::string file = write("broken.h", "\nint x = ;\n");
  const std::string log = failed_log("#include \"" + file + "\"" + kAnswer);
  EXPECT_NE(log.find(file + ":2:"), std::string::npos) << log;
  EXPECT_EQ(log.find("remotecl-" + std::to_string(::geteuid()) + "/"), std::string::npos) << log;
  const std::string named = write("named.h", "constant char name[] = __FILE__;\n#define VALUE __LINE__\n");
  const std::string length = std::to_string(named.size() + 1);
  const std::string use = "\nkernel void answer(global int* to) { *to = sizeof(name) == " + length + " ? 51 : 0; }\n";
  EXPECT_EQ(value_of("#include \"" + named + "\"" + use), 51);
}

TEST_F(IncludeTest, AFileThatIsMissingIsNotLookedForOnTheServer) {
  EXPECT_NE(failed_log("#include \"/nowhere/value.h\"\n").find("absolute path"), std::string::npos);
  EXPECT_NE(failed_log("#define NAME \"/nowhere/value.h\"\n#include NAME\n").find("absolute path"), std::string::npos);
}

}  // namespace
}  // namespace remotecl::testing
