#pragma once

#include <string>
#include <vector>

namespace remotecl::plugins {

// What a plugin's process is for.
struct Confinement {
  std::string plugin;              // its library
  std::string filter;              // a name of CallFilter
  std::string user;                // that it becomes if it is root's
  std::vector<std::string> rules;  // what it may open
};

// Restricts this process to the plugin's library, the system's libraries and settings, and what the rules name; with
// them, sockets of TCP and UDP. Denies new rights to all that it starts, and limits memory, so that a decoder that
// leaks ends before it harms the machine. Must run before the plugin is loaded and the process has a second thread.
// Returns what could not be restricted, as text for people; usually empty. Prints what an audit finds to stderr.
std::string confine(const Confinement& confinement);

}  // namespace remotecl::plugins
