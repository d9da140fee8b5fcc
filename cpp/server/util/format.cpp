#include "server/util/format.h"

#include <fmt/args.h>

namespace remotecl::server {

std::string format_values(std::string_view format, std::initializer_list<FormatValue> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const FormatValue& value : values) {
    std::visit([&arguments](const auto& known) { arguments.push_back(known); }, value.value());
  }
  return fmt::vformat(fmt::string_view(format.data(), format.size()), arguments);
}

}  // namespace remotecl::server
