#include "extras/scheduling/placement/automatic_device.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>

#include "runtime/client/session/session.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {
namespace {

using Value = std::vector<std::byte>;
using Values = std::vector<const Value*>;  // of each member, at least one
using Join = Value (*)(const Values& values);

template <class T>
std::vector<T> numbers(const Value& value) {
  std::vector<T> result(value.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), value.data(), result.size() * sizeof(T));
  return result;
}

template <class T>
Value bytes_of(const std::vector<T>& numbers) {
  Value result(numbers.size() * sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), numbers.data(), result.size());
  return result;
}

Value text_value(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.c_str());
  return {begin, begin + text.size() + 1};
}

std::string text_of(const Value& value) {
  const auto* const begin = reinterpret_cast<const char*>(value.data());
  return {begin, std::find(begin, begin + value.size(), '\0')};
}

// Element by element; lists are as long as the shortest.
template <class T, class Pick>
Value joined(const Values& values, Pick pick) {
  std::vector<T> result = numbers<T>(*values.front());
  for (const Value* value : values) {
    const std::vector<T> other = numbers<T>(*value);
    result.resize(std::min(result.size(), other.size()));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = pick(result[i], other[i]);
  }
  return bytes_of(result);
}

template <class T>
Value least(const Values& values) {
  return joined<T>(values, [](T one, T other) { return std::min(one, other); });
}
template <class T>
Value most(const Values& values) {
  return joined<T>(values, [](T one, T other) { return std::max(one, other); });
}
template <class T>
Value common_bits(const Values& values) {
  return joined<T>(values, std::bit_and<T>());
}
template <class T>
Value any_bits(const Values& values) {
  return joined<T>(values, std::bit_or<T>());
}
template <class T, T kAnswer>
Value always(const Values&) {
  return bytes_of(std::vector<T>{kAnswer});
}

Value nothing(const Values&) { return {}; }
Value own_name(const Values&) { return text_value("remotecl"); }

Value least_text(const Values& values) {
  std::string result = text_of(*values.front());
  for (const Value* value : values) result = std::min(result, text_of(*value));
  return text_value(result);
}

template <char kBetween>
Value common_words(const Values& values) {
  const auto split = [](const Value& value) {
    std::vector<std::string> words;
    std::istringstream stream(text_of(value));
    for (std::string word; std::getline(stream, word, kBetween);) {
      if (!word.empty()) words.push_back(word);
    }
    return words;
  };
  std::vector<std::string> words = split(*values.front());
  for (const Value* value : values) {
    const std::vector<std::string> other = split(*value);
    std::erase_if(words, [&](const auto& word) { return std::find(other.begin(), other.end(), word) == other.end(); });
  }
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : std::string(1, kBetween)) + word;
  return text_value(result);
}

// For lists of cl_name_version: the entries that all members have, each with the oldest version. With kByVersion, each
// version of a name is an entry of its own, as for languages.
template <bool kByVersion>
Value common_versions(const Values& values) {
  std::vector<cl_name_version> result = numbers<cl_name_version>(*values.front());
  for (const Value* value : values) {
    const auto other = numbers<cl_name_version>(*value);
    std::erase_if(result, [&](cl_name_version& entry) {
      const auto at = std::find_if(other.begin(), other.end(), [&](const cl_name_version& one) {
        return std::strncmp(one.name, entry.name, sizeof entry.name) == 0 &&
               (!kByVersion || one.version == entry.version);
      });
      if (at == other.end()) return true;
      entry.version = std::min(entry.version, at->version);
      return false;
    });
  }
  return bytes_of(result);
}

// A property without a rule is reported if all members agree on it, and left out otherwise.
struct Rule {
  cl_device_info name;
  Join join;
};

constexpr Join kLeastUint = least<cl_uint>, kLeastUlong = least<cl_ulong>, kLeastSize = least<std::size_t>;
constexpr Join kMostUint = most<cl_uint>, kCommon = common_bits<cl_bitfield>, kAll = least<cl_bool>;

constexpr Rule kRules[] = {
    {CL_DEVICE_TYPE, any_bits<cl_device_type>},
    {CL_DEVICE_VENDOR_ID, always<cl_uint, 0>},
    {CL_DEVICE_VENDOR, own_name},
    {CL_DRIVER_VERSION, least_text},
    {CL_DEVICE_PROFILE, least_text},  // EMBEDDED_PROFILE before FULL_PROFILE
    {CL_DEVICE_VERSION, least_text},
    {CL_DEVICE_OPENCL_C_VERSION, least_text},
    {CL_DEVICE_NUMERIC_VERSION, kLeastUint},
    {CL_DEVICE_IL_VERSION, common_words<' '>},
    {CL_DEVICE_ILS_WITH_VERSION, common_versions<true>},
    {CL_DEVICE_EXTENSIONS, common_words<' '>},
    {CL_DEVICE_EXTENSIONS_WITH_VERSION, common_versions<false>},
    {CL_DEVICE_OPENCL_C_ALL_VERSIONS, common_versions<true>},
    {CL_DEVICE_OPENCL_C_FEATURES, common_versions<false>},
    {CL_DEVICE_BUILT_IN_KERNELS, common_words<';'>},
    {CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, common_versions<false>},
    {CL_DEVICE_MAX_COMPUTE_UNITS, kLeastUint},
    {CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, kLeastUint},
    {CL_DEVICE_MAX_WORK_ITEM_SIZES, kLeastSize},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, kLeastSize},
    {CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, most<std::size_t>},
    {CL_DEVICE_MAX_NUM_SUB_GROUPS, kLeastUint},
    {CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, kAll},
    {CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, kAll},
    {CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, kAll},
    {CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, kAll},
    {CL_DEVICE_MAX_CLOCK_FREQUENCY, kLeastUint},
    {CL_DEVICE_ADDRESS_BITS, kLeastUint},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, kLeastUlong},
    {CL_DEVICE_GLOBAL_MEM_SIZE, kLeastUlong},
    {CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, kLeastUint},
    {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, kMostUint},
    {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, kLeastUlong},
    {CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, kLeastSize},
    {CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, kLeastSize},
    {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, kLeastUlong},
    {CL_DEVICE_MAX_CONSTANT_ARGS, kLeastUint},
    {CL_DEVICE_LOCAL_MEM_TYPE, kMostUint},  // CL_GLOBAL is more than CL_LOCAL
    {CL_DEVICE_LOCAL_MEM_SIZE, kLeastUlong},
    {CL_DEVICE_MAX_PARAMETER_SIZE, kLeastSize},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, kMostUint},
    {CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, kMostUint},
    {CL_DEVICE_ERROR_CORRECTION_SUPPORT, kAll},
    {CL_DEVICE_PROFILING_TIMER_RESOLUTION, most<std::size_t>},
    {CL_DEVICE_ENDIAN_LITTLE, kAll},
    {CL_DEVICE_AVAILABLE, always<cl_bool, CL_TRUE>},  // asked for each time
    // A program is built for those that can build it, and runs there.
    {CL_DEVICE_COMPILER_AVAILABLE, most<cl_bool>},
    {CL_DEVICE_LINKER_AVAILABLE, most<cl_bool>},
    {CL_DEVICE_EXECUTION_CAPABILITIES, kCommon},
    {CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, kCommon},
    {CL_DEVICE_SVM_CAPABILITIES, kCommon},
    {CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, kCommon},
    {CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, kCommon},
    {CL_DEVICE_SINGLE_FP_CONFIG, kCommon},
    {CL_DEVICE_DOUBLE_FP_CONFIG, kCommon},
    {CL_DEVICE_HALF_FP_CONFIG, kCommon},
    {CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, kMostUint},
    {CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, kMostUint},
    {CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, kMostUint},
    {CL_DEVICE_PRINTF_BUFFER_SIZE, kLeastSize},
    {CL_DEVICE_IMAGE_SUPPORT, kAll},
    {CL_DEVICE_MAX_READ_IMAGE_ARGS, kLeastUint},
    {CL_DEVICE_MAX_WRITE_IMAGE_ARGS, kLeastUint},
    {CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, kLeastUint},
    {CL_DEVICE_IMAGE2D_MAX_WIDTH, kLeastSize},
    {CL_DEVICE_IMAGE2D_MAX_HEIGHT, kLeastSize},
    {CL_DEVICE_IMAGE3D_MAX_WIDTH, kLeastSize},
    {CL_DEVICE_IMAGE3D_MAX_HEIGHT, kLeastSize},
    {CL_DEVICE_IMAGE3D_MAX_DEPTH, kLeastSize},
    {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, kLeastSize},
    {CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, kLeastSize},
    {CL_DEVICE_IMAGE_PITCH_ALIGNMENT, kMostUint},
    {CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, kMostUint},
    {CL_DEVICE_MAX_SAMPLERS, kLeastUint},
    {CL_DEVICE_PARTITION_MAX_SUB_DEVICES, always<cl_uint, 0>},
    {CL_DEVICE_PARTITION_PROPERTIES, always<cl_device_partition_property, 0>},
    {CL_DEVICE_PARTITION_AFFINITY_DOMAIN, always<cl_device_affinity_domain, 0>},
    {CL_DEVICE_PARTITION_TYPE, nothing},
};

// These name one physical device, so the automatic device would be taken for it.
constexpr cl_device_info kNamesOfOne[] = {CL_DEVICE_UUID_KHR, CL_DEVICE_LUID_KHR, CL_DEVICE_NODE_MASK_KHR,
                                          CL_DEVICE_PCI_BUS_INFO_KHR};

bool is_vector_width(cl_device_info name) {
  return (name >= CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR && name <= CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE) ||
         (name >= CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF && name <= CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
}

bool all_equal(const Values& values) {
  return std::all_of(values.begin(), values.end(), [&](const Value* value) { return *value == *values.front(); });
}

// If a member has no answer, the automatic device has none. A bit that a member does not know counts as one that it
// lacks.
void join_info(const std::vector<Device*>& members, cl_device_info name, DeviceInfo& to) {
  Values values;
  for (const Device* member : members) {
    const Value* const value = member->info(name);
    if (value == nullptr) return;
    values.push_back(value);
  }
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules), [name](const Rule& one) { return one.name == name; });
  if (rule != std::end(kRules)) {
    to[name] = rule->join(values);
  } else if (is_vector_width(name)) {
    to[name] = kLeastUint(values);
  } else if (all_equal(values) &&
             std::find(std::begin(kNamesOfOne), std::end(kNamesOfOne), name) == std::end(kNamesOfOne)) {
    to[name] = *values.front();
  }
}

DeviceInfo common_info(const std::vector<Device*>& members) {
  DeviceInfo info;
  for (const auto& [name, value] : members.front()->all_info()) join_info(members, name, info);
  const std::string count = std::to_string(members.size()) + (members.size() == 1 ? " device)" : " devices)");
  info[CL_DEVICE_NAME] = text_value("remotecl automatic device (" + count);
  const cl_device_type type = numbers<cl_device_type>(info[CL_DEVICE_TYPE]).front();
  info[CL_DEVICE_TYPE] = bytes_of(std::vector<cl_device_type>{type | CL_DEVICE_TYPE_DEFAULT});
  return info;
}

}  // namespace

Device* make_automatic_device(Platform& platform, const std::vector<Device*>& devices) {
  std::vector<Device*> members;
  for (Device* device : devices) {
    const bool is_custom = (device->type() & CL_DEVICE_TYPE_CUSTOM) != 0;
    if (!is_custom && !device->lost() && members.size() < kLocationMax) members.push_back(device);
  }
  if (members.empty()) return nullptr;
  DeviceInfo info = common_info(members);
  return new Device(platform, std::move(members), std::move(info));
}

}  // namespace remotecl
