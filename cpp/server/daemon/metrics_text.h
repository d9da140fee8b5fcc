#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace remotecl::server {

// Builds the text that Prometheus reads, format version 0.0.4. A value.
class MetricsText {
 public:
  using Label = std::pair<std::string_view, std::string>;

  // Begins a family, to which the following samples belong. `type`: "counter" or "gauge".
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void add(double value, std::initializer_list<Label> labels = {});

  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace remotecl::server
