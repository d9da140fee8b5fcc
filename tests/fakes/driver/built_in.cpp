#include "fakes/driver/built_in.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

namespace remotecl::fake {
namespace {

constexpr std::size_t kKernelsMax = 16;
constexpr std::size_t kArgumentsMax = 8;

bool names_argument(char letter) { return letter != 0 && std::strchr("mcvwlis", letter) != nullptr; }

struct BuiltIn {
  std::string_view name;
  std::size_t buffers, numbers;
  void (*item)(std::span<std::int32_t* const> buffers, std::span<const std::int32_t> numbers, std::size_t i);
};
using Buffers = std::span<std::int32_t* const>;
using Numbers = std::span<const std::int32_t>;

// Unsigned, so that it wraps.
std::int32_t sum(std::int32_t one, std::int32_t other) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) + static_cast<std::uint32_t>(other));
}
std::int32_t combined(std::int32_t one, std::int32_t other) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) * 3u ^ static_cast<std::uint32_t>(other));
}

constexpr BuiltIn kBuiltIns[] = {
    {"add_mmm", 3, 0, [](Buffers b, Numbers, std::size_t i) { b[2][i] = b[0][i] + b[1][i]; }},
    {"add_mv", 1, 1, [](Buffers b, Numbers n, std::size_t i) { b[0][i] = sum(b[0][i], n[0]); }},
    {"brighten_im", 2, 0, [](Buffers b, Numbers, std::size_t i) { b[1][i] = sum(b[1][i], b[0][i]); }},
    {"combine_mm", 2, 0, [](Buffers b, Numbers, std::size_t i) { b[1][i] = combined(b[0][i], b[1][i]); }},
    {"copy_mm", 2, 0, [](Buffers b, Numbers, std::size_t i) { b[1][i] = b[0][i]; }},
    {"count_mv", 1, 1, [](Buffers b, Numbers n, std::size_t i) { b[0][i] = sum(n[0], static_cast<std::int32_t>(i)); }},
    {"fill_mv", 1, 1, [](Buffers b, Numbers n, std::size_t i) { b[0][i] = n[0]; }},
};

const BuiltIn* find(std::string_view name) {
  const auto at =
      std::find_if(std::begin(kBuiltIns), std::end(kBuiltIns), [name](const auto& one) { return one.name == name; });
  return at == std::end(kBuiltIns) ? nullptr : at;
}

}  // namespace

const std::string& built_in_names() {
  static const std::string& names = *[] {
    auto* all = new std::string;
    for (const BuiltIn& one : kBuiltIns) *all += (all->empty() ? "" : ";") + std::string(one.name);
    return all;
  }();
  return names;
}

std::vector<std::string> kernels_in(const std::string& code) {
  std::set<std::string> kernels;
  for (std::size_t at = code.find("k_"); at != std::string::npos; at = code.find("k_", at + 2)) {
    std::size_t end = at + 2;
    while (end < code.size() && end - at - 2 < kArgumentsMax && names_argument(code[end])) ++end;
    if (kernels.size() < kKernelsMax) kernels.insert(code.substr(at, end - at));
  }
  for (const BuiltIn& one : kBuiltIns) {
    if (code.find(one.name) != std::string::npos) kernels.insert(std::string(one.name));
  }
  return {kernels.begin(), kernels.end()};
}

bool computes(std::string_view kernel, const Launch& launch) {
  const BuiltIn* const one = find(kernel);
  return one != nullptr && launch.memory.size() == one->buffers && launch.numbers.size() == one->numbers;
}

bool only_reads(std::string_view kernel, std::size_t argument) {
  const std::string_view arguments = kernel.substr(kernel.find('_') + 1);
  return find(kernel) != nullptr && argument < arguments.find_last_of('m');
}

void compute(std::string_view kernel, const Launch& launch) {
  const BuiltIn& one = *find(kernel);
  std::size_t end = launch.first + launch.count;
  std::vector<std::int32_t*> buffers;
  for (const auto& memory : launch.memory) {
    buffers.push_back(reinterpret_cast<std::int32_t*>(memory->data));
    end = std::min(end, memory->size / sizeof(std::int32_t));
  }
  for (std::size_t i = launch.first; i < end; ++i) one.item(buffers, launch.numbers, i);
}

}  // namespace remotecl::fake
