#include "runtime/client/split/proof/built_ins.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "runtime/client/split/proof/types.h"

namespace remotecl::proof {
namespace {

using Words = std::set<std::string_view>;

// None of these takes a pointer.
const Words& functions() {
  static const Words& words = *new Words{"acos",          "acosh",
                                         "acospi",        "asin",
                                         "asinh",         "asinpi",
                                         "atan",          "atan2",
                                         "atanh",         "atanpi",
                                         "atan2pi",       "cbrt",
                                         "ceil",          "copysign",
                                         "cos",           "cosh",
                                         "cospi",         "erfc",
                                         "erf",           "exp",
                                         "exp2",          "exp10",
                                         "expm1",         "fabs",
                                         "fdim",          "floor",
                                         "fma",           "fmax",
                                         "fmin",          "fmod",
                                         "hypot",         "ilogb",
                                         "ldexp",         "lgamma",
                                         "log",           "log2",
                                         "log10",         "log1p",
                                         "logb",          "mad",
                                         "maxmag",        "minmag",
                                         "nan",           "nextafter",
                                         "pow",           "pown",
                                         "powr",          "remainder",
                                         "rint",          "rootn",
                                         "round",         "rsqrt",
                                         "sin",           "sinh",
                                         "sinpi",         "sqrt",
                                         "tan",           "tanh",
                                         "tanpi",         "tgamma",
                                         "trunc",         "native_cos",
                                         "native_divide", "native_exp",
                                         "native_exp2",   "native_exp10",
                                         "native_log",    "native_log2",
                                         "native_log10",  "native_powr",
                                         "native_recip",  "native_rsqrt",
                                         "native_sin",    "native_sqrt",
                                         "native_tan",    "half_cos",
                                         "half_divide",   "half_exp",
                                         "half_exp2",     "half_exp10",
                                         "half_log",      "half_log2",
                                         "half_log10",    "half_powr",
                                         "half_recip",    "half_rsqrt",
                                         "half_sin",      "half_sqrt",
                                         "half_tan",      "abs",
                                         "abs_diff",      "add_sat",
                                         "hadd",          "rhadd",
                                         "clamp",         "clz",
                                         "ctz",           "mad_hi",
                                         "mad_sat",       "max",
                                         "min",           "mul_hi",
                                         "rotate",        "sub_sat",
                                         "upsample",      "popcount",
                                         "mad24",         "mul24",
                                         "degrees",       "mix",
                                         "radians",       "step",
                                         "smoothstep",    "sign",
                                         "cross",         "dot",
                                         "distance",      "length",
                                         "normalize",     "fast_distance",
                                         "fast_length",   "fast_normalize",
                                         "isequal",       "isnotequal",
                                         "isgreater",     "isgreaterequal",
                                         "isless",        "islessequal",
                                         "islessgreater", "isfinite",
                                         "isinf",         "isnan",
                                         "isnormal",      "isordered",
                                         "isunordered",   "signbit",
                                         "any",           "all",
                                         "bitselect",     "select",
                                         "shuffle",       "shuffle2"};
  return words;
}

const Words& constants() {
  static const Words& words =
      *new Words{"true",      "false",     "MAXFLOAT",    "HUGE_VALF",    "HUGE_VAL",  "INFINITY",    "NAN",
                 "M_E_F",     "M_LOG2E_F", "M_LOG10E_F",  "M_LN2_F",      "M_LN10_F",  "M_PI_F",      "M_PI_2_F",
                 "M_PI_4_F",  "M_1_PI_F",  "M_2_PI_F",    "M_2_SQRTPI_F", "M_SQRT2_F", "M_SQRT1_2_F", "M_E",
                 "M_LOG2E",   "M_LOG10E",  "M_LN2",       "M_LN10",       "M_PI",      "M_PI_2",      "M_PI_4",
                 "M_1_PI",    "M_2_PI",    "M_2_SQRTPI",  "M_SQRT2",      "M_SQRT1_2", "FLT_DIG",     "FLT_MANT_DIG",
                 "FLT_MAX",   "FLT_MIN",   "FLT_EPSILON", "DBL_MAX",      "DBL_MIN",   "DBL_EPSILON", "CHAR_BIT",
                 "CHAR_MAX",  "CHAR_MIN",  "INT_MAX",     "INT_MIN",      "LONG_MAX",  "LONG_MIN",    "SCHAR_MAX",
                 "SCHAR_MIN", "SHRT_MAX",  "SHRT_MIN",    "UCHAR_MAX",    "USHRT_MAX", "UINT_MAX",    "ULONG_MAX"};
  return words;
}

struct Reason {
  std::string_view begin;  // of the name
  std::string_view why;
};
constexpr std::array<Reason, 36> kReasons{{
    {"get_global_size", "each piece has a size of its own"},
    {"get_global_offset", "each piece has an offset of its own"},
    {"get_global_linear_id", "it depends on the size of a piece"},
    {"get_group_id", "the work-groups of each piece are counted from 0"},
    {"get_num_groups", "each piece has as many work-groups as it needs"},
    {"get_local_", "work-groups may differ from piece to piece"},
    {"get_enqueued_local_size", "work-groups may differ from piece to piece"},
    {"get_sub_group", "work-groups may differ from piece to piece"},
    {"sub_group_", "work-groups may differ from piece to piece"},
    {"work_group_barrier", "barriers and fences are not followed"},
    {"barrier", "barriers and fences are not followed"},
    {"mem_fence", "barriers and fences are not followed"},
    {"read_mem_fence", "barriers and fences are not followed"},
    {"write_mem_fence", "barriers and fences are not followed"},
    {"work_group_", "work-groups may differ from piece to piece"},
    {"atomic", "atomic operations see the own copy of each device"},
    {"atom_", "atomic operations see the own copy of each device"},
    {"printf", "what pieces print is in another order"},
    {"vload", "functions that take a pointer are not followed"},
    {"vstore", "functions that take a pointer are not followed"},
    {"async_", "functions that take a pointer are not followed"},
    {"prefetch", "functions that take a pointer are not followed"},
    {"fract", "functions that take a pointer are not followed"},
    {"frexp", "functions that take a pointer are not followed"},
    {"modf", "functions that take a pointer are not followed"},
    {"remquo", "functions that take a pointer are not followed"},
    {"sincos", "functions that take a pointer are not followed"},
    {"read_image", "images are not followed"},
    {"write_image", "images are not followed"},
    {"image", "images are not followed"},
    {"local", "local memory is not followed"},
    {"read_only", "images are not followed"},
    {"write_only", "images are not followed"},
    {"read_write", "images are not followed"},
    {"sampler_t", "images are not followed"},
    {"volatile", "volatile memory is not followed"},
}};

// "convert_float4_sat_rte", "as_uint2".
bool is_conversion(const std::string& name) {
  if (name.starts_with("as_")) return type_named(name.substr(3)).has_value();
  if (!name.starts_with("convert_")) return false;
  const std::string rest = name.substr(8);
  return type_named(rest.substr(0, rest.find('_'))).has_value();
}

}  // namespace

bool is_pure_function(const std::string& name) { return functions().contains(name) || is_conversion(name); }

bool is_constant(const std::string& name) { return constants().contains(name); }

std::string why_not(const std::string& name) {
  const auto reason =
      std::ranges::find_if(kReasons, [&name](const Reason& one) { return name.starts_with(one.begin); });
  if (reason != kReasons.end()) return std::string(reason->why);
  return "only names of the kernel itself and pure functions of OpenCL C are followed";
}

}  // namespace remotecl::proof
