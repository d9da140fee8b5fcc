# The standard library's headers take longer to compile than most of our files. They are compiled once for libraries and
# once for programs, whose flags differ, once with GoogleTest's for tests, and once more for each target that wants
# others with them.

set(REMOTECL_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <cstring> <deque> <functional> <map>
  <memory> <mutex> <optional> <span> <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map> <utility>
  <vector>)

function(remotecl_targets_below folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    remotecl_targets_below(${below} found)
    list(APPEND targets ${found})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# The target's own precompiled headers, each as <path>, so that ccache finds them in clones in other folders. For those
# that nearly every file of the target includes, and that take longer to compile than the file.
function(remotecl_precompile target)
  set_property(TARGET ${target} PROPERTY REMOTECL_HEADERS ${ARGN})
endfunction()

# A test's own code compiles sooner with fewer optimisations. The libraries that it tests have those that users get.
function(remotecl_compile_as_test target)
  target_link_libraries(${target} PRIVATE GTest::gtest)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# After all targets have been added. A target that is one file saves nothing with headers of its own.
function(remotecl_precompile_headers)
  remotecl_targets_below(${PROJECT_SOURCE_DIR} targets)
  set(source ${PROJECT_BINARY_DIR}/precompiled_headers.cpp)
  file(WRITE ${source}.new "int main() {}\n")
  configure_file(${source}.new ${source} COPYONLY)
  add_library(remotecl_library_headers OBJECT EXCLUDE_FROM_ALL ${source})
  add_executable(remotecl_program_headers EXCLUDE_FROM_ALL ${source})
  foreach(owner remotecl_library_headers remotecl_program_headers)
    target_link_libraries(${owner} PRIVATE remotecl_options)
    target_precompile_headers(${owner} PRIVATE ${REMOTECL_PRECOMPILED_HEADERS})
  endforeach()
  set(tests "")
  if(REMOTECL_TESTS)
    remotecl_targets_below(${PROJECT_SOURCE_DIR}/tests/cpp tests)
    add_executable(remotecl_test_headers EXCLUDE_FROM_ALL ${source})
    remotecl_compile_as_test(remotecl_test_headers)
    target_link_libraries(remotecl_test_headers PRIVATE remotecl_options)
    target_precompile_headers(remotecl_test_headers PRIVATE
      ${REMOTECL_PRECOMPILED_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
  endif()
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_property(own TARGET ${target} PROPERTY REMOTECL_HEADERS)
    if(own AND NOT REMOTECL_GROUP)
      target_precompile_headers(${target} PRIVATE ${REMOTECL_PRECOMPILED_HEADERS} ${own})
    elseif(type STREQUAL "EXECUTABLE" AND target IN_LIST tests)
      remotecl_compile_as_test(${target})
      target_precompile_headers(${target} REUSE_FROM remotecl_test_headers)
    elseif(type STREQUAL "EXECUTABLE" AND NOT REMOTECL_GROUP)
      target_precompile_headers(${target} REUSE_FROM remotecl_program_headers)
    elseif(type MATCHES "STATIC_LIBRARY|OBJECT_LIBRARY" OR target STREQUAL "remotecl")
      target_precompile_headers(${target} REUSE_FROM remotecl_library_headers)
    endif()
  endforeach()
endfunction()
