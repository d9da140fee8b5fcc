// Kernels that may not be divided, or of which that is not known, and the reasons that are given.
#include "client/split/proof_verdicts.h"

namespace remotecl::proof {
namespace {

struct Refused {
  const char* name;
  const char* source;
  const char* why;  // a part of it
  std::vector<std::optional<std::int64_t>> values = {};
  std::uint32_t dimension = 0;
};

void PrintTo(const Refused& one, std::ostream* out) { *out << one.name; }

const std::string nested = "kernel void k(global int* a) { a[get_global_id(0)] = " + std::string(5000, '(') + "1" +
                           std::string(5000, ')') + "; }";

class RefusedTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, IsNotProven) {
  const Refused& one = GetParam();
  const Proof proof(one.source, "-cl-mad-enable", "k");
  auto values = one.values;
  values.resize(8);
  const std::string why = text(proof.divide(launch(one.dimension, values)));
  EXPECT_NE(why.find(one.why), std::string::npos) << why << "\n" << one.source;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RefusedTest,
    ::testing::Values(
        Refused{"WriteToTheNextItem", "kernel void k(global int* a) { a[get_global_id(0) + 1] = 0; }",
                "line 1, 'a': the position in an item goes from 1 to 1, but an item has 1 elements"},
        Refused{"WriteToTheFormerItem", "kernel void k(global int* a) { int i = get_global_id(0); a[i - 1] = 0; }",
                "goes from -1 to -1"},
        Refused{"ReadOfANeighbourInAWrittenBuffer",
                "kernel void k(global int* a) { int i = get_global_id(0); a[i] = a[i + 1]; }", "goes from 1 to 1"},
        Refused{"Scatter", "kernel void k(global int* a, global const int* to) { a[to[get_global_id(0)]] = 0; }",
                "'a': the index is not of the form get_global_id(0) * size + position"},
        Refused{"OneCell", "kernel void k(global int* a) { a[0] = get_global_id(0); }", "the index is not of the form"},
        Refused{"OtherDimension", "kernel void k(global int* a) { a[get_global_id(1)] = 0; }",
                "the index is not of the form"},
        Refused{"Halves", "kernel void k(global int* a) { a[get_global_id(0) / 2] = 0; }",
                "the index is not of the form"},
        Refused{"Backwards",
                "kernel void k(global int* a, int n) { int i = get_global_id(0); a[n - 1 - i] = 0; }",
                "no number above 0",
                {kNo, 100}},
        Refused{"Squares", "kernel void k(global int* a) { int i = get_global_id(0); a[i * i] = 0; }",
                "the index is not of the form"},
        Refused{"TwoSizes", "kernel void k(global int* a) { int i = get_global_id(0); a[i] = 0; a[2 * i] = 1; }",
                "another size"},
        Refused{"Overhang", "kernel void k(global int* a) { int i = get_global_id(0); a[2 * i + 2] = 0; }",
                "goes from 2 to 2, but an item has 2"},
        Refused{"RowsThatAreTooLong",
                "kernel void k(global int* a, int w) { a[get_global_id(1) * w + get_global_id(0)] = 0; }",
                "goes from 0 to 99, but an item has 99",
                {kNo, 99},
                1},
        Refused{"RowsWithoutAWidth",
                "kernel void k(global int* a, int w) { a[get_global_id(1) * w + get_global_id(0)] = 0; }",
                "no number above 0",
                {kNo, 0},
                1},
        Refused{"RowsOfNegativeWidth",
                "kernel void k(global int* a, int w) { a[get_global_id(1) * w + get_global_id(0)] = 0; }",
                "a number in the index may not fit",
                {kNo, -100},
                1},
        Refused{"ColumnsOfAMatrix",
                "kernel void k(global int* a, int w) { a[get_global_id(1) * w + get_global_id(0)] = 0; }",
                "goes from 0 to 3900",
                {kNo, 100},
                0},
        Refused{"WrongGuard",
                "kernel void k(global int* a, int w) { int x = get_global_id(0), y = get_global_id(1);"
                " if (x <= w) a[y * w + x] = 0; }",
                "goes from 0 to 90, but an item has 90",
                {kNo, 90},
                1},
        Refused{"GuardByEither",
                "kernel void k(global int* a, int w) { int x = get_global_id(0), y = get_global_id(1);"
                " if (x < w || y < w) a[y * w + x] = 0; }",
                "goes from 0 to 99",
                {kNo, 90},
                1},
        Refused{"GuardThatIsOver",
                "kernel void k(global int* a, int w) { int x = get_global_id(0), y = get_global_id(1);"
                " if (x < w) { a[y * w + x] = 0; } a[y * w + x] = 1; }",
                "goes from 0 to 99",
                {kNo, 90},
                1},
        Refused{"GuardWithoutReturn",
                "kernel void k(global int* a, int w) { int x = get_global_id(0), y = get_global_id(1);"
                " if (x >= w) { y; } a[y * w + x] = 1; }",
                "goes from 0 to 99",
                {kNo, 90},
                1},
        Refused{"GuardThatWraps",
                "kernel void k(global int* a, int w) { uint x = get_global_id(0), y = get_global_id(1);"
                " if (x < w) a[y * 50 + x] = 0; }",
                "goes from 0 to 99",
                {kNo, -1},
                1},
        Refused{"LoopThatIsTooLong",
                "kernel void k(global int* a, int n) { int i = get_global_id(0);"
                " for (int j = 0; j <= n; ++j) a[i * n + j] = 0; }",
                "goes from 0 to 7, but an item has 7",
                {kNo, 7}},
        Refused{"LoopWithAChangedVariable",
                "kernel void k(global int* a, int n) { int i = get_global_id(0);"
                " for (int j = 0; j < n; ++j) { a[i * n + j] = 0; j += 1; } }",
                "the index is not of the form",
                {kNo, 7}},
        Refused{"LoopThatIsItsOwnLimit",
                "kernel void k(global int* a, int n) { int i = get_global_id(0);"
                " for (int j = 0; j < n - j; ++j) a[i * n + j] = 0; }",
                "the index is not of the form",
                {kNo, 7}},
        Refused{"LoopDownwards",
                "kernel void k(global int* a, int n) { int i = get_global_id(0);"
                " for (int j = n; j > 0; --j) a[i * n + j] = 0; }",
                "the index is not of the form",
                {kNo, 7}},
        Refused{"ChangedIndex", "kernel void k(global int* a) { int i = get_global_id(0); a[i] = 0; i++; a[i] = 1; }",
                "the index is not of the form"},
        Refused{"ChangedArgument",
                "kernel void k(global int* a, int n) { a[get_global_id(0) * n] = 0; n = 2; }",
                "the index is not of the form",
                {kNo, 7}},
        Refused{"ShortIndex", "kernel void k(global int* a) { short i = get_global_id(0); a[i] = 0; }",
                "the index is not of the form"},
        Refused{"FloatIndex", "kernel void k(global int* a) { float i = get_global_id(0); a[(int)i] = 0; }",
                "the index is not of the form"},
        Refused{"NumbersBeyondAnInt",
                "kernel void k(global int* a, int n) { int i = get_global_id(0); a[i * n] = 0; }",
                "a number in the index may not fit its type",
                {kNo, 2000000000}},
        Refused{"Atomics", "kernel void k(global int* a) { atomic_add(&a[0], 1); }",
                "line 1, 'atomic_add': atomic operations see the own copy of each device"},
        Refused{"OldAtomics", "kernel void k(global int* a) { atom_inc(a); }", "atomic operations"},
        Refused{"Barrier", "kernel void k(global int* a) {\n barrier(CLK_GLOBAL_MEM_FENCE); a[get_global_id(0)] = 0; }",
                "line 2, 'barrier': barriers and fences"},
        Refused{"LocalMemory", "kernel void k(global int* a) { local int b[4]; a[get_global_id(0)] = b[0]; }",
                "'local': local memory"},
        Refused{"LocalArgument", "kernel void k(global int* a, __local int* b) { a[get_global_id(0)] = b[0]; }",
                "'local': local memory"},
        Refused{"GroupId", "kernel void k(global int* a) { a[get_global_id(0)] = get_group_id(0); }",
                "'get_group_id': the work-groups of each piece are counted from 0"},
        Refused{"NumberOfGroups", "kernel void k(global int* a) { a[get_global_id(0)] = get_num_groups(0); }",
                "'get_num_groups'"},
        Refused{"LocalId", "kernel void k(global int* a) { a[get_global_id(0)] = get_local_id(0); }", "'get_local_id'"},
        Refused{"GlobalSize", "kernel void k(global int* a) { a[get_global_id(0)] = get_global_size(0); }",
                "'get_global_size': each piece has a size of its own"},
        Refused{"GlobalOffset", "kernel void k(global int* a) { a[get_global_id(0)] = get_global_offset(0); }",
                "'get_global_offset'"},
        Refused{"IndexFromGroups",
                "kernel void k(global int* a) { a[get_group_id(0) * get_local_size(0) + get_local_id(0)] = 0; }",
                "'get_group_id'"},
        Refused{"Printf", "kernel void k(global int* a) { printf(\"%d\", a[0]); }", "'printf': what pieces print"},
        Refused{"OwnFunction",
                "int f(int x) { return x; } kernel void k(global int* a) { a[f(get_global_id(0))] = 0; }",
                "'f': the program's own functions are not followed"},
        Refused{"OwnFunctionOfAKnownName",
                "float sin(int x) { return x; } kernel void k(global int* a) {"
                " a[get_global_id(0)] = sin(2); }",
                "'sin': the program's own functions"},
        Refused{"ProgramVariable",
                "constant int table[] = {1, 2}; kernel void k(global int* a) {"
                " a[get_global_id(0)] = table[0]; }",
                "'table': variables outside of the kernel"},
        Refused{"Alias", "kernel void k(global int* a) { global int* b = a; b[get_global_id(0)] = 0; }", "'global'"},
        Refused{"PrivateAlias", "kernel void k(global int* a) { int* b = 0; a[get_global_id(0)] = b[0]; }",
                "'*': pointers of the kernel's own"},
        Refused{"Dereference", "kernel void k(global int* a) { *(a + get_global_id(0)) = 0; }",
                "'*': pointers are followed only where they have an index"},
        Refused{"PointerArithmetic", "kernel void k(global int* a) { (a + 1)[get_global_id(0)] = 0; }",
                "'a': pointers are followed only where"},
        Refused{"Address", "kernel void k(global int* a) { a[get_global_id(0)] = (long)&a[5]; }", "'&': addresses"},
        Refused{"PointerCast", "kernel void k(global int* a) { ((global char*)a)[get_global_id(0)] = 0; }", "'global'"},
        Refused{"ChangedPointer", "kernel void k(global int* a) { a++; a[get_global_id(0)] = 0; }",
                "'a': pointers are followed only where"},
        Refused{"PointerFunctions", "kernel void k(global int* a) { vstore4((int4)0, get_global_id(0), a); }",
                "'vstore4': functions that take a pointer"},
        Refused{"Image", "kernel void k(write_only image2d_t a) { write_imagef(a, (int2)(0, 0), (float4)0); }",
                "'write_only': images"},
        Refused{"Structure", "struct S { int a; }; kernel void k(global struct S* s) { s[get_global_id(0)].a = 0; }",
                "'struct'"},
        Refused{"Volatile", "kernel void k(volatile global int* a) { a[get_global_id(0)] = 0; }",
                "'volatile': volatile"},
        Refused{"Switch", "kernel void k(global int* a) { switch (a[0]) { case 1: a[get_global_id(0)] = 0; } }",
                "'switch'"},
        Refused{"Goto", "kernel void k(global int* a) { begin: a[get_global_id(0)] = 0; goto begin; }", "'begin'"},
        Refused{"FunctionMacro", "#define AT(i) (i)\nkernel void k(global int* a) { a[AT(get_global_id(0))] = 0; }",
                "line 2, 'AT': this macro is not followed"},
        Refused{"MacroOfSeveralTokens",
                "#define ONE 0 + 1\nkernel void k(global int* a) { a[get_global_id(0) * ONE] = 0; }",
                "'ONE': this macro is not followed"},
        Refused{"MacroDefinedTwice",
                "#define N 1\n#define N 2\nkernel void k(global int* a) { a[get_global_id(0) * N] = 0; }", "'N'"},
        Refused{"Condition", "#ifdef FAST\n#endif\nkernel void k(global int* a) { a[get_global_id(0)] = 0; }",
                "line 1, '#ifdef': this directive is not followed"},
        Refused{"Include", "#include \"k.h\"\nkernel void k(global int* a) { a[get_global_id(0)] = 0; }", "'#include'"},
        Refused{"PragmaForMacros",
                "#pragma push_macro(\"N\")\nkernel void k(global int* a) { a[get_global_id(0)] = 0; }", "'#pragma'"},
        Refused{"DirectiveBehindAJoinedLine",
                "kernel void k(global int* a) { a[get_global_id(0)] = 0; \\\n\n#undef N\n }", "line 3, '#undef'"},
        Refused{"UnbalancedMacro", "#define OPEN {\nkernel void k(global int* a) { a[get_global_id(0)] = 0; }",
                "brackets of this macro"},
        Refused{"Digraph", "kernel void k(global int* a) { a<:get_global_id(0)] = 0; }", "digraphs"},
        Refused{"NoSuchKernel", "kernel void other(global int* a) { a[get_global_id(0)] = 0; }", "no kernel 'k'"},
        Refused{"HalfAKernel", "kernel void k(global int* a) { a[get_global_id(0)] = 0;", "not closed"},
        Refused{"UnknownName", "kernel void k(global int* a) { a[get_global_id(0)] = some; }", "'some'"},
        Refused{"NestedTooDeeply", nested.c_str(), "nested too deeply"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace remotecl::proof
