// Mutates inputs that are lists of records: whole records, and fields of messages, whose lengths stay right. What else
// can be wrong with bytes is left to the fuzzer's own mutations of a record.
#include <algorithm>
#include <cstring>
#include <random>

#include "support/records.h"
#include "support/wire_fields.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace remotecl::fuzz {
namespace {

class Mutator {
 public:
  Mutator(std::vector<Record>& records, unsigned seed) : records_(records), random_(seed) {}

  void mutate(std::size_t size_max) {
    if (records_.empty()) return insert_blank();
    switch (below(16)) {
      case 0:
        return insert_blank();
      case 1:
        return duplicate();
      case 2:
        return erase();
      case 3:
        std::swap(any(), any());
        return;
      case 4:
        any().channel = static_cast<std::uint16_t>(below(kChannels));
        return;
      case 5:
        return mutate_bytes(any(), size_max);
      default:
        return mutate_field(any());
    }
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  Record& any() { return records_[below(records_.size())]; }
  std::uint16_t any_code() {
    if (!records_.empty() && below(2) == 0) return any().code;
    return message_codes()[below(message_codes().size())];
  }

  void insert_blank() {
    const std::uint16_t code = any_code();
    const Record record{code, static_cast<std::uint16_t>(code >= 2000 ? kPeerControl : kControl), blank_message(code)};
    records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(below(records_.size() + 1)), record);
  }
  void duplicate() {
    const Record copy = any();
    records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(below(records_.size() + 1)), copy);
  }
  void erase() { records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(below(records_.size()))); }

  void mutate_bytes(Record& record, std::size_t size_max) {
    const std::size_t size = record.payload.size();
    record.payload.resize(std::min(size_max, size + 64));
    record.payload.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(record.payload.data()),
                                           std::min(size, record.payload.size()), record.payload.size()));
  }

  void mutate_field(Record& record) {
    const bool is_message = record.channel != kBulk && record.channel != kPeerBulk && record.channel != kRaw;
    const auto fields = is_message ? wire_fields(record.code, record.payload) : chunk_fields(record);
    if (fields.empty()) return mutate_bytes(record, record.payload.size() + 16);
    const WireField& field = fields[below(fields.size())];
    if (field.kind == WireField::Kind::kNumber) return mutate_number(record, field);
    if (field.is_resizable) return mutate_list(record, field);
  }
  static std::vector<WireField> chunk_fields(const Record& record) {
    if (record.payload.size() < kBulkHeaderSize) return {};
    return {{WireField::Kind::kNumber, 0, 8}, {WireField::Kind::kNumber, 8, 4}, {WireField::Kind::kNumber, 12, 4}};
  }

  void mutate_number(Record& record, const WireField& field) {
    std::uint64_t value = 0;
    std::memcpy(&value, record.payload.data() + field.offset, field.size);
    value = changed(value, field.size);
    std::memcpy(record.payload.data() + field.offset, &value, field.size);
  }
  std::uint64_t changed(std::uint64_t value, std::size_t size) {
    static constexpr std::uint64_t kEdgeValues[] = {0,
                                                    1,
                                                    ~std::uint64_t{0},
                                                    kInlineDataMax,
                                                    kInlineDataMax + 1,
                                                    kPushMax,
                                                    kBulkChunkMax,
                                                    12u << 20,
                                                    64u << 20,
                                                    0x7fffffff,
                                                    0x80000000,
                                                    0xffffffff,
                                                    std::uint64_t{1} << 47,
                                                    std::uint64_t{1} << 63,
                                                    65535,
                                                    1024};
    switch (below(8)) {
      case 0:
        return kEdgeValues[below(std::size(kEdgeValues))];
      case 1:
        return value + 1;
      case 2:
        return value - 1;
      case 3:
        return value ^ std::uint64_t{1} << below(64);
      case 4:
        return std::uint64_t{1} << below(64);
      case 5:
        return random_();
      case 6:
        return taken(size);
      default:
        return below(20);
    }
  }
  // A number of the same size from anywhere: an id, more often than not.
  std::uint64_t taken(std::size_t size) {
    const Record& from = any();
    const auto fields = wire_fields(from.code, from.payload);
    std::uint64_t value = 0;
    if (fields.empty()) return value;
    const WireField& field = fields[below(fields.size())];
    if (field.kind == WireField::Kind::kNumber && field.size == size) {
      std::memcpy(&value, from.payload.data() + field.offset, size);
    }
    return value;
  }

  void mutate_list(Record& record, const WireField& field) {
    auto& bytes = record.payload;
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.data() + field.offset, sizeof count);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(field.offset + 4 + field.size);
    if (field.items.empty()) {
      // The size of the items is not known: bytes, in most lists that are empty.
      std::vector<std::byte> more(below(4) == 0 ? 8 : 1, std::byte{static_cast<unsigned char>(below(5))});
      count += more.size() == 8 ? 1 : static_cast<std::uint32_t>(more.size());
      bytes.insert(end, more.begin(), more.end());
    } else {
      const std::size_t item = below(field.items.size());
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(field.items[item]);
      const auto last = item + 1 < field.items.size() && count == field.items.size()
                            ? bytes.begin() + static_cast<std::ptrdiff_t>(field.items[item + 1])
                        : count == field.items.size() ? end
                                                      : first + 1;
      if (below(2) == 0) {
        const std::vector<std::byte> copy(first, last);
        bytes.insert(end, copy.begin(), copy.end());
        ++count;
      } else if (last - first == 1 && below(2) == 0) {
        *first = static_cast<std::byte>(random_());
      } else {
        bytes.erase(first, last);
        --count;
      }
    }
    std::memcpy(bytes.data() + field.offset, &count, sizeof count);
  }

  std::vector<Record>& records_;
  std::minstd_rand random_;
};

std::size_t store(const std::vector<Record>& records, std::uint8_t* data, std::size_t size_max) {
  const auto bytes = serialize(records);
  const std::size_t size = std::min(bytes.size(), size_max);
  if (size != 0) std::memcpy(data, bytes.data(), size);
  return size;
}

Bytes as_input(const std::uint8_t* data, std::size_t size) { return std::as_bytes(std::span(data, size)); }

}  // namespace
}  // namespace remotecl::fuzz

using namespace remotecl::fuzz;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max,
                                               unsigned seed) {
  auto records = parse_records(as_input(data, size));
  for (unsigned i = 0; i <= seed % 4; ++i) Mutator(records, seed + i).mutate(size_max);
  return store(records, data, size_max);
}

// The beginning of one session, and the end of another one.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t size_max, unsigned seed) {
  auto records = parse_records(as_input(first, first_size));
  const auto more = parse_records(as_input(second, second_size));
  std::minstd_rand random(seed);
  if (!records.empty()) records.resize(random() % records.size() + 1);
  const std::size_t from = more.empty() ? 0 : random() % more.size();
  records.insert(records.end(), more.begin() + static_cast<std::ptrdiff_t>(from), more.end());
  return store(records, out, size_max);
}
