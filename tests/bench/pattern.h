#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace remotecl::bench {

struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Bytes to send, whose content can be told from any earlier content: restamp() changes every page, so that
// data of an earlier repetition never passes for this one's.
class Pattern {
 public:
  explicit Pattern(size_t size);

  void restamp();
  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

  // Throws DataError naming `what` and the first wrong byte.
  void expect_equal(const std::vector<uint8_t>& received, const std::string& what) const;

  // Makes every page of `received` differ from the pattern, so that a read that moves nothing is noticed.
  void spoil(std::vector<uint8_t>& received) const;

 private:
  std::vector<uint8_t> bytes_;
  uint32_t stamp_ = 0;
};

}  // namespace remotecl::bench
