#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "icd/opencl.h"

namespace remotecl::testing {

using Words = std::vector<cl_uint>;
using SharedEvent = std::shared_ptr<Owned<cl_event>>;

// Where words are for certain: a bit for each device, and one for this process.
using Locations = std::uint8_t;
inline constexpr Locations kHostLocation = 0x80;
inline Locations location_of(unsigned device) { return static_cast<Locations>(1u << device); }

class SequentialModel;

// A command as the model sees it.
struct ModelCommand {
  struct Range {
    std::size_t memory, begin, size;
  };

  std::string what;
  std::vector<Range> reads{}, writes{};
  // Carried out, it does this to the words; compares what it has brought.
  std::function<void(SequentialModel&)> effect{};
  bool blocking = false;
  bool survives = false;               // all that it needs is in a location that is not lost
  bool undefines = false;              // leaves nothing in what it writes
  bool may_fetch = false;              // what it overwrites was given up, perhaps too late to spare fetching it
  bool may_be_refused = true;          // what it writes is as it was then
  std::optional<Locations> read_to{};  // where the words that it reads are afterwards, too, if not on its device

  // When it has been enqueued:
  unsigned device = 0;
  Locations lost = 0;                // devices of which that was known then
  std::vector<SharedEvent> waits{};  // for these
  bool is_refused = false;           // one of the other events that it waits for fails
  SharedEvent event{};               // null: the call has failed
  cl_int status = CL_SUCCESS;        // of the call; at last of the command
};

// Predicts the contents of memory after commands that run one after another. Commands fail if their device is lost, or
// if they need the result of one that failed. Reports commands that behave otherwise. One thread.
class SequentialModel {
 public:
  using Range = ModelCommand::Range;

  // The index of a memory object with these words, which are here.
  std::size_t add(Words words);
  std::size_t size() const { return contents_.size(); }
  Words& words(std::size_t memory) { return contents_[memory].words; }
  cl_uint* at(const Range& range) { return words(range.memory).data() + range.begin; }

  // The next command, which has ended. `lost`: devices by now.
  void carry_out(const ModelCommand& command, Locations lost);
  // What it says is what is there, as far as that is known.
  void expect(const std::string& what, const Range& range, const cl_uint* got) const {
    content(range).expect(what, range, got);
  }
  // What is there now, for commands whose results come later.
  struct Content {
    Words words;
    std::vector<bool> known;

    void expect(const std::string& what, const Range& range, const cl_uint* got) const;
  };
  Content content(const Range& range) const;

  // How many commands have failed that need nothing of a lost device. What a server was about to send counts for a
  // while after its loss.
  std::size_t misses() const { return misses_; }

  // Ranges of the memory object whose words are in a place that is not lost.
  std::vector<Range> surviving(std::size_t memory, Locations lost) const;
  bool survives(std::size_t memory, Locations lost) const;
  // Whether all of its words are known, lost or not.
  bool knows(std::size_t memory) const;

 private:
  struct Contents {
    Words words;
    std::vector<Locations> locations;  // none: nobody knows what the word is
    std::vector<Locations> perhaps;    // devices that it was on its way to, as well
  };

  bool knows(const std::vector<Range>& ranges) const;
  void succeeded(const ModelCommand& command);
  void failed(const ModelCommand& command, Locations lost);
  // Empty, or why the failure is wrong.
  std::string unexplained(const ModelCommand& command, Locations lost) const;
  void set_locations(const Range& range, Locations locations);

  std::vector<Contents> contents_;
  std::size_t misses_ = 0;
};

}  // namespace remotecl::testing
