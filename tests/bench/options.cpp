#include "options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace remotecl::bench {

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app{
      "Measures remotecl against the native driver and plain TCP, in one run.\n"
      "The exit status says whether everything ran and all data was right, not how fast it was.",
      "remotecl-bench"};
  app.add_option("--json", options.json_path, "Also write the results to this file")->type_name("FILE");
  app.add_option("--servers", options.servers, "Servers to use; the default is the environment's REMOTECL_SERVERS")
      ->type_name("HOST[:PORT],...");
  app.add_option("--native-platform", options.native_platform,
                 "Native platform to compare with, by a part of its name; the default is the one that has "
                 "the remote device")
      ->type_name("NAME");
  app.add_option("--device", options.device_index, "Index of the remote device to measure");
  app.add_flag("--quick", options.quick, "Far fewer repetitions: shows that everything works");
  app.add_option("--only", options.only, "Run these cases, by name or beginning of a name")
      ->delimiter(',')
      ->type_name("NAME,...");
  const std::map<std::string, Rows> rows{
      {"all", Rows::kAll}, {"one", Rows::kOneServer}, {"several", Rows::kSeveralServers}, {"tcp", Rows::kTcp}};
  app.add_option("--rows", options.rows,
                 "Only the cases that take one server, those that take several, or those without shared memory")
      ->transform(CLI::CheckedTransformer(rows).description(""))
      ->type_name("all|one|several|tcp");
  app.add_flag("--list", options.list, "Print the names of all cases");
  // An empty group keeps an option out of --help.
  app.add_option("--remote-platform", options.remote_platform)->group("");
  app.add_option("--probe-platform", options.probe_platform)->group("");
  app.add_option("--probe-device", options.probe_device)->group("");
  app.add_flag("--probe-dies", options.probe_dies)->group("");
  app.add_flag("--probe-streams", options.probe_streams)->group("");
  app.add_flag("--probe-floods", options.probe_floods)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

}  // namespace remotecl::bench
