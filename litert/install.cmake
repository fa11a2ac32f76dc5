# SPDX-License-Identifier: Apache-2.0
#
# LiteRT's external delegate: libhalyard_delegate.so, and the component `litert`:
# cmake --install BUILD --component litert --prefix P. The Python package carries it as well.

include(GNUInstallDirs)

# halyard_litert_library(TARGET NAME ENTRY MAP libraries...): a shared library with that entry, which
# exports what the version script says.
function(halyard_litert_library target name entry map)
  add_library(${target} SHARED ${entry})
  target_link_libraries(${target} PRIVATE halyard_flags ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL
    -Wl,--no-undefined -Wl,-z,defs -Wl,--gc-sections)
endfunction()

halyard_litert_library(halyard_delegate halyard_delegate litert/delegate/entry.cc
  ${CMAKE_SOURCE_DIR}/litert/delegate.map halyard_litert_delegate)
install(TARGETS halyard_delegate LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT litert
  EXCLUDE_FROM_ALL)
install(TARGETS halyard_delegate LIBRARY DESTINATION halyard/native COMPONENT programs)
