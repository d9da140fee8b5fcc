# A target's sources as one file that includes them, so that their headers are read once. CMake's own UNITY_BUILD names
# them by absolute paths, with which ccache finds nothing in clones in other folders.

# `folder`: what the target's sources are named relative to; one of its include directories.
function(remotecl_unite target folder)
  get_target_property(sources ${target} SOURCES)
  get_target_property(place ${target} SOURCE_DIR)
  set(text "")
  foreach(source ${sources})
    file(REAL_PATH ${source} source BASE_DIRECTORY ${place})
    file(RELATIVE_PATH source ${folder} ${source})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  set(united ${PROJECT_BINARY_DIR}/united/${target}.cpp)
  file(CONFIGURE OUTPUT ${united} CONTENT "${text}" @ONLY)
  set_property(TARGET ${target} PROPERTY SOURCES ${united})
endfunction()

# Each room, and each other target below cpp/.
function(remotecl_unite_rooms)
  remotecl_targets_below(${PROJECT_SOURCE_DIR}/cpp targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      remotecl_unite(${target} ${PROJECT_SOURCE_DIR}/cpp)
    endif()
  endforeach()
endfunction()
