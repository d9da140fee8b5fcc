#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace remotecl {

// A BPF program that answers what is to become of a system call, put together instruction by instruction. One thread.
class FilterProgram {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  // Loads the lower half, which is all of an int.
  void load_argument(unsigned number) { load(offset_of(number)); }
  void load_upper_half(unsigned number) { load(offset_of(number) + sizeof(std::uint32_t)); }
  // Of the word that was loaded, only these bits stay.
  void keep_bits(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }

  void answer(std::uint32_t what) { add(BPF_RET | BPF_K, what); }
  void answer_if(int comparison, std::uint32_t value, std::uint32_t what) {
    add(BPF_JMP | comparison | BPF_K, value, 0, 1);
    answer(what);
  }
  void answer_unless(int comparison, std::uint32_t value, std::uint32_t what) {
    add(BPF_JMP | comparison | BPF_K, value, 1, 0);
    answer(what);
  }
  template <class Values>
  void answer_if_one_of(const Values& values, std::uint32_t what) {
    for (const std::uint32_t value : values) answer_if(BPF_JEQ, value, what);
  }
  // Applies `rule` if the comparison is true; otherwise skips it, with the same word loaded. The rule has to answer.
  template <class Rule>
  void when(int comparison, std::uint32_t value, Rule&& rule) {
    const std::size_t jump = code_.size();
    add(BPF_JMP | comparison | BPF_K, value, 0, 0);
    rule();
    code_[jump].jf = static_cast<std::uint8_t>(code_.size() - jump - 1);
  }
  // Applies `rule` to one system call.
  template <class Rule>
  void of(std::uint32_t number, Rule&& rule) {
    load_number();
    when(BPF_JEQ, number, rule);
  }

  sock_fprog program() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

 private:
  static std::size_t offset_of(unsigned number) {
    return offsetof(seccomp_data, args) + number * sizeof(std::uint64_t);  // both processors are little-endian
  }
  void add(int code, std::uint32_t value, std::uint8_t on_true = 0, std::uint8_t on_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), on_true, on_false, value});
  }

  std::vector<sock_filter> code_;
};

}  // namespace remotecl
