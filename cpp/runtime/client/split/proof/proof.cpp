#include "runtime/client/split/proof/proof.h"

#include <algorithm>

#include "runtime/client/split/proof/accesses.h"
#include "runtime/client/split/proof/kernel_text.h"
#include "runtime/client/split/proof/launch_ranges.h"
#include "runtime/client/split/proof/not_proven.h"
#include "runtime/client/split/proof/statement_reader.h"
#include "runtime/client/split/proof/tokenizer.h"

namespace remotecl::proof {
namespace {

// What is proven of the accesses to one pointer so far.
struct Found {
  std::int64_t elements = 0;       // of an item; 0: no access yet
  std::int64_t low = 0, high = 0;  // the first and the last element of item 0 and beside it
};

std::string at(const Access& access, const Parameter& parameter) {
  return "line " + std::to_string(access.line) + ", '" + parameter.name + "': ";
}

std::string form(std::uint32_t dimension) {
  return "get_global_id(" + std::to_string(dimension) + ") * size + position";
}

// Adds the access; returns why it is no part of the items. Empty: it is.
std::string add(const Access& access, const Accesses& kernel, const Launch& launch, LaunchRanges& ranges,
                Found& found) {
  const Parameter& parameter = kernel.parameters[access.parameter];
  const auto refused = [&](const std::string& why) { return at(access, parameter) + why; };
  if (!access.index) return refused("the index is not of the form " + form(launch.dimension));
  const std::vector<Interval> known = ranges.symbols(access.facts);
  if (ranges.is_unreachable(known, access.facts, *access.index)) return {};
  if (!ranges.hold(access.duties)) return refused("a number in the index may not fit its type in this launch");
  const auto size = access.index->factor_of(launch.dimension);
  const Polynomial rest = access.index->without(launch.dimension);
  if (!size || size->as_number() == 0) {
    return refused("the index is not of the form " + form(launch.dimension));
  }
  const auto elements = size->range(known), position = rest.range(known);
  if (!elements || elements->low != elements->high || elements->low < 1) {
    return refused("the size of an item is no number above 0 that all work-items share");
  }
  if (found.elements != 0 && found.elements != elements->low) {
    return refused("its items have another size than in another access");
  }
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  if (!position || position->low < -kFar || position->high > kFar) {
    return refused("the position in an item is not limited");
  }
  if (parameter.is_written && (position->low < 0 || position->high >= elements->low)) {
    return refused("the position in an item goes from " + std::to_string(position->low) + " to " +
                   std::to_string(position->high) + ", but an item has " + std::to_string(elements->low) +
                   " elements: it would touch other items");
  }
  found.low = std::min(found.low, position->low);
  found.high = std::max(found.high, position->high);
  found.elements = elements->low;
  return {};
}

Part part_of(std::uint32_t argument, const Parameter& parameter, const Found& found, bool is_whole) {
  Part part{argument, parameter.is_written, is_whole, 1, 0, 0};
  if (is_whole) return part;
  const auto elements = static_cast<std::uint64_t>(std::max<std::int64_t>(found.elements, 1));
  part.item_bytes = elements * parameter.type.size();
  if (found.low < 0) part.before = (static_cast<std::uint64_t>(-found.low) + elements - 1) / elements;
  part.after = static_cast<std::uint64_t>(std::max<std::int64_t>(found.high, 0)) / elements;
  return part;
}

}  // namespace

Proof::Proof(const std::string& source, const std::string& options, const std::string& kernel) {
  try {
    const std::vector<Token> tokens = tokenize(source, options);
    accesses_ = std::make_shared<const Accesses>(read_kernel(find_kernel(tokens, kernel)));
  } catch (const NotProven& error) {
    why_not_ = error.what();
  }
}

std::vector<ScalarArgument> Proof::arguments() const {
  std::vector<ScalarArgument> arguments;
  if (accesses_ == nullptr) return arguments;
  for (const Parameter& parameter : accesses_->parameters) {
    arguments.push_back({!parameter.is_pointer && parameter.type.is_integer(), parameter.type.is_signed,
                         parameter.is_pointer ? 0 : parameter.type.size()});
  }
  return arguments;
}

Verdict Proof::divide(const Launch& launch) const {
  if (accesses_ == nullptr) return {{}, why_not_};
  LaunchRanges ranges(*accesses_, launch);
  Verdict verdict;
  for (std::uint32_t i = 0; i < accesses_->parameters.size(); ++i) {
    const Parameter& parameter = accesses_->parameters[i];
    if (!parameter.is_pointer) continue;
    Found found;
    bool is_whole = false;
    for (const Access& access : accesses_->accesses) {
      if (access.parameter != i) continue;
      const std::string why = add(access, *accesses_, launch, ranges, found);
      if (!why.empty() && parameter.is_written) return {{}, why};
      is_whole = is_whole || !why.empty();
    }
    verdict.parts.push_back(part_of(i, parameter, found, is_whole));
  }
  return verdict;
}

}  // namespace remotecl::proof
