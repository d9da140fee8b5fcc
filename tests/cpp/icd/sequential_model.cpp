#include "icd/sequential_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace remotecl::testing {

std::size_t SequentialModel::add(Words words) {
  std::vector<Locations> locations(words.size(), kHostLocation), perhaps(words.size(), 0);
  contents_.push_back({std::move(words), std::move(locations), std::move(perhaps)});
  return contents_.size() - 1;
}

void SequentialModel::carry_out(const ModelCommand& command, Locations lost) {
  if (command.is_refused) {
    EXPECT_EQ(command.status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) << command.what;
  } else if (command.status == CL_SUCCESS) {
    succeeded(command);
  } else {
    failed(command, lost);
  }
}

void SequentialModel::succeeded(const ModelCommand& command) {
  const bool known = knows(command.reads);
  if (command.effect) command.effect(*this);
  const Locations own = location_of(command.device), read_to = command.read_to.value_or(own);
  for (const Range& range : command.reads) {
    auto& [words, locations, perhaps] = contents_[range.memory];
    for (std::size_t i = range.begin; i < range.begin + range.size; ++i) {
      if (locations[i] != 0) locations[i] |= read_to;
      perhaps[i] |= own;
    }
  }
  for (const Range& range : command.writes) set_locations(range, known && !command.undefines ? own : 0);
}

void SequentialModel::failed(const ModelCommand& command, Locations lost) {
  if (command.survives) ++misses_;
  const std::string wrong = unexplained(command, lost);
  if (!wrong.empty()) ADD_FAILURE() << command.what << " failed with " << command.status << ": " << wrong;
  // A call that fails at once has done nothing.
  const bool was_sent =
      command.event != nullptr || (command.blocking && (command.lost & location_of(command.device)) == 0);
  if (!was_sent) return;
  for (const Range& range : command.reads) {
    std::vector<Locations>& perhaps = contents_[range.memory].perhaps;
    for (std::size_t i = range.begin; i < range.begin + range.size; ++i) perhaps[i] |= location_of(command.device);
  }
  for (const Range& range : command.writes) set_locations(range, 0);
}

std::string SequentialModel::unexplained(const ModelCommand& command, Locations lost) const {
  const bool is_code =
      command.status == CL_DEVICE_NOT_AVAILABLE || command.status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  if (!is_code) return "no code of a lost server";
  for (const SharedEvent& event : command.waits) {
    if (status(*event) < 0) return "";
  }
  const Locations own = location_of(command.device);
  if ((command.lost & own) != 0 && command.status != CL_DEVICE_NOT_AVAILABLE) return "its device was known to be lost";
  if ((lost & own) != 0 || (command.may_fetch && lost != 0)) return "";
  for (const Range& range : command.reads) {
    const auto& [words, locations, perhaps] = contents_[range.memory];
    for (std::size_t i = range.begin; i < range.begin + range.size; ++i) {
      if ((locations[i] & own) != 0) continue;
      if ((locations[i] & ~lost) == 0) return "";
      // It may have been taken from a device that was lost on the way.
      if (((locations[i] | perhaps[i]) & lost) != 0) return "";
    }
  }
  Locations locations = 0xff, some = 0;
  for (const Range& range : command.reads) {
    for (std::size_t i = range.begin; i < range.begin + range.size; ++i) {
      locations &= contents_[range.memory].locations[i];
      some |= contents_[range.memory].locations[i];
    }
  }
  return "nothing that it needs is lost: it is on device " + std::to_string(command.device) + ", " +
         std::to_string(command.lost) + " and then " + std::to_string(lost) + " were lost, all that it reads was in " +
         std::to_string(locations) + ", some of it in " + std::to_string(some);
}

SequentialModel::Content SequentialModel::content(const Range& range) const {
  const auto& [words, locations, perhaps] = contents_[range.memory];
  Content content{{words.begin() + static_cast<std::ptrdiff_t>(range.begin),
                   words.begin() + static_cast<std::ptrdiff_t>(range.begin + range.size)},
                  std::vector<bool>(range.size)};
  for (std::size_t i = 0; i < range.size; ++i) content.known[i] = locations[range.begin + i] != 0;
  return content;
}

void SequentialModel::Content::expect(const std::string& what, const Range& range, const cl_uint* got) const {
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < range.size; ++i) {
    if (!known[i] || got[i] == words[i]) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return;
  ADD_FAILURE() << what << ": " << count << " words are wrong, the first one is word " << range.begin + first << ", "
                << got[first] << " instead of " << words[first];
}

std::vector<SequentialModel::Range> SequentialModel::surviving(std::size_t memory, Locations lost) const {
  const std::vector<Locations>& locations = contents_[memory].locations;
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    if ((locations[i] & ~lost) == 0) continue;
    const bool joins = !ranges.empty() && ranges.back().begin + ranges.back().size == i;
    if (joins) {
      ++ranges.back().size;
    } else {
      ranges.push_back({memory, i, 1});
    }
  }
  return ranges;
}

bool SequentialModel::survives(std::size_t memory, Locations lost) const {
  const std::vector<Locations>& locations = contents_[memory].locations;
  return std::all_of(locations.begin(), locations.end(), [lost](Locations at) { return (at & ~lost) != 0; });
}

bool SequentialModel::knows(std::size_t memory) const { return knows({{memory, 0, contents_[memory].words.size()}}); }

bool SequentialModel::knows(const std::vector<Range>& ranges) const {
  return std::all_of(ranges.begin(), ranges.end(), [this](const Range& range) {
    const auto begin = contents_[range.memory].locations.begin() + static_cast<std::ptrdiff_t>(range.begin);
    return std::find(begin, begin + static_cast<std::ptrdiff_t>(range.size), Locations{0}) ==
           begin + static_cast<std::ptrdiff_t>(range.size);
  });
}

void SequentialModel::set_locations(const Range& range, Locations locations) {
  const auto begin = static_cast<std::ptrdiff_t>(range.begin);
  std::fill_n(contents_[range.memory].locations.begin() + begin, range.size, locations);
  std::fill_n(contents_[range.memory].perhaps.begin() + begin, range.size, Locations{0});
}

}  // namespace remotecl::testing
