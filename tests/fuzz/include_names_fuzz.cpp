// Build options and a program's text, in the process of whoever builds it. Whatever they are, there is an end, and each
// place that is found can be changed. The options end with the first zero byte.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/includes/include_names.h"

using namespace remotecl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::string_view text = all.substr(std::min(end + 1, all.size()));
  IncludeNames names;
  names.add_options(all.substr(0, end));
  names.add(text);
  std::vector<IncludeChange> changes;
  std::size_t at = 0;
  for (const IncludeMention& mention : names.mentions()) {
    bool is_complete = true;
    names.names_of(mention, is_complete);
    if (mention.begin < at || mention.begin >= mention.end || mention.end > text.size()) {
      std::fputs("a place that cannot be\n", stderr);
      std::abort();
    }
    at = mention.end;
    changes.push_back({mention.begin, mention.end, "<a>"});
  }
  const std::string after = changed(text, changes);
  if (std::count(after.begin(), after.end(), '\n') != std::count(text.begin(), text.end(), '\n')) {
    std::fputs("lines have other numbers\n", stderr);
    std::abort();
  }
  return 0;
}
