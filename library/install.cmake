# SPDX-License-Identifier: Apache-2.0
#
# libhalyard.so, and the component `library`: cmake --install BUILD --component library --prefix P.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(halyard_shared SHARED $<TARGET_OBJECTS:halyard_embedding>)
target_link_libraries(halyard_shared PRIVATE halyard_tflite halyard_engine)
set_target_properties(halyard_shared PROPERTIES OUTPUT_NAME halyard EXPORT_NAME halyard
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(halyard_shared INTERFACE $<INSTALL_INTERFACE:include>)
set(exports ${CMAKE_SOURCE_DIR}/library/halyard.map)
target_link_options(halyard_shared PRIVATE -Wl,--version-script=${exports}
  -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,-z,defs -Wl,--gc-sections)
set_target_properties(halyard_shared PROPERTIES LINK_DEPENDS ${exports})
if(HALYARD_STATIC_LIBSTDCXX AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set_source_files_properties(library/unloading.cc PROPERTIES
    COMPILE_DEFINITIONS HALYARD_OWNS_LIBSTDCXX)
elseif(NOT HALYARD_STATIC_LIBSTDCXX)
  get_target_property(link_options halyard_shared LINK_OPTIONS)
  list(REMOVE_ITEM link_options -static-libstdc++ -static-libgcc)
  set_target_properties(halyard_shared PROPERTIES LINK_OPTIONS "${link_options}")
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/halyard)
file(RELATIVE_PATH HALYARD_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" HALYARD_PREFIX_FROM_PC "${HALYARD_PREFIX_FROM_PC}")
configure_file(library/halyard.pc.in ${CMAKE_BINARY_DIR}/generated/library/halyard.pc @ONLY)
configure_package_config_file(library/halyardConfig.cmake.in
  ${CMAKE_BINARY_DIR}/generated/library/halyardConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/generated/library/halyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS halyard_shared EXPORT halyardTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library
  EXCLUDE_FROM_ALL)
install(DIRECTORY include/halyard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  EXCLUDE_FROM_ALL)
install(EXPORT halyardTargets NAMESPACE halyard:: DESTINATION ${package_folder} COMPONENT library
  EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/generated/library/halyardConfig.cmake
  ${CMAKE_BINARY_DIR}/generated/library/halyardConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT library EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/generated/library/halyard.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library EXCLUDE_FROM_ALL)
