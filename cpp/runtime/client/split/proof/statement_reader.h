#pragma once

#include "runtime/client/split/proof/expression_reader.h"

namespace remotecl::proof {

// Reads a kernel: its parameters, and the statements of its body.
class StatementReader : public ExpressionReader {
 public:
  using ExpressionReader::ExpressionReader;

  void read(std::span<const Token> parameters);

 private:
  // The limits of a loop's variable, which only the loop itself changes.
  struct Loop {
    Token name;
    Value begin;
    Type type;
  };

  void parameter(std::span<const Token> tokens);
  // These return whether what follows in the block is never reached from there.
  bool statement();
  bool block();
  bool condition();
  bool jump();
  void loop_while();
  void loop_do();
  void loop_for();
  void loop_over(const Loop& loop, std::size_t variable);
  // False: there is none. `loop`, if not null, receives the last one that may be the variable of a loop.
  bool declarations(std::optional<Loop>* loop);
  void initializer_list();
  void body(const std::vector<FactId>& facts);
  // Whether the tokens from here on are those of a loop that counts up, over this name.
  bool counts_up(const std::string& name);
};

// What the kernel's text says of its accesses. Throws NotProven.
Accesses read_kernel(const KernelText& text);

}  // namespace remotecl::proof
