#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/client/split/proof/arithmetic.h"
#include "runtime/client/split/proof/kernel_text.h"
#include "runtime/client/split/proof/scopes.h"

namespace remotecl::proof {

// Reads the expressions of a kernel from its tokens, and notes each access to memory. Two passes: the first one finds
// out which variables are assigned to after their declaration. Throws NotProven at what it does not follow.
class ExpressionReader {
 public:
  // `assigned`: the variables to which the first pass has seen assignments; null in that one.
  ExpressionReader(const KernelText& text, Accesses& accesses, const std::set<std::size_t>* assigned);

  const std::set<std::size_t>& assigned() const { return assigned_; }

 protected:
  // Bounds how deep the reader calls itself, while it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionReader& reader_;
  };

  const Token& token(std::size_t ahead = 0) const { return text_.body[std::min(at_ + ahead, text_.body.size() - 1)]; }
  bool is(const char* text, std::size_t ahead = 0) const { return token(ahead).is(text); }
  // Goes on if this is the next token.
  bool accept(const char* text);
  void expect(const char* text);
  void skip() { ++at_; }
  bool has(std::size_t ahead) const { return at_ + ahead < text_.body.size(); }
  bool is_over() const { return !has(0); }

  // A type of one or two words, behind qualifiers. nullopt, and nothing is read: there is none.
  std::optional<Type> accept_type();
  Value expression();  // without commas outside of brackets
  // A value that is its number as long as nobody assigns to the variable.
  void declare(const Token& name, Variable::Kind kind, Value value, std::uint32_t parameter = 0);
  bool is_assigned(std::size_t variable) const { return known_ == nullptr || known_->contains(variable); }
  std::size_t variables() const { return variables_; }

  Accesses& accesses_;
  Arithmetic arithmetic_;
  Scopes scopes_;

 private:
  Value conditional();
  Value binary(int level);
  Value unary();
  Value cast_or_brackets();
  Value postfix();
  Value primary();
  Value named();
  Value call(const Token& name);
  Value access(const Token& name, const Variable& pointer);
  Value element(const Token& name);
  void assign(const Value& to, const Token& at);

  const KernelText& text_;
  const std::set<std::size_t>* const known_;
  std::set<std::size_t> assigned_;
  std::size_t variables_ = 0;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace remotecl::proof
