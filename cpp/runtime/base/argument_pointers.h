#pragma once

#include <string>
#include <vector>

namespace remotecl {

// Arguments or an environment as exec() and its relatives take them, with a null pointer at the end. Valid as long as
// `texts` does not change.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace remotecl
