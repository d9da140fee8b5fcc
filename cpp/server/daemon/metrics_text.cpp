#include "server/daemon/metrics_text.h"

#include "server/util/format.h"

namespace remotecl::server {

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += format_text("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::add(double value, std::initializer_list<Label> labels) {
  text_ += name_;
  char separator = '{';
  for (const auto& [label, content] : labels) {
    text_ += separator;
    text_.append(label).append("=\"");
    for (const char byte : content) {
      if (byte == '\\' || byte == '"') text_ += '\\';
      if (byte == '\n') {
        text_ += "\\n";
      } else {
        text_ += byte;
      }
    }
    text_ += '"';
    separator = ',';
  }
  if (labels.size() != 0) text_ += '}';
  // Shortest form that reads back as the same number; a count of bytes is exact up to 2^53.
  text_ += format_text(" {}\n", value);
}

}  // namespace remotecl::server
