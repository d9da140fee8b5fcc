#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/client/split/proof/proof.h"

// What the tests of proofs share.
namespace remotecl::proof {

inline constexpr std::uint64_t kWidth = 100, kHeight = 40;

// Two dimensions, of kWidth and kHeight items.
inline Launch launch(std::uint32_t dimension, std::vector<std::optional<std::int64_t>> values) {
  return {dimension, {0, 0, 0}, {kWidth, kHeight, 1}, std::move(values)};
}

inline constexpr std::nullopt_t kNo = std::nullopt;

// As argument:w if it is written:item bytes:before:after, or argument:whole; or why nothing is proven.
inline std::string text(const Verdict& verdict) {
  if (!verdict.why_not.empty()) return verdict.why_not;
  std::string text;
  for (const Part& part : verdict.parts) {
    if (!text.empty()) text += ' ';
    text += std::to_string(part.argument) + (part.is_written ? ":w" : "");
    if (part.is_whole) {
      text += ":whole";
      continue;
    }
    for (const std::uint64_t number : {part.item_bytes, part.before, part.after}) text += ':' + std::to_string(number);
  }
  return text;
}

}  // namespace remotecl::proof
