# SPDX-License-Identifier: Apache-2.0
#
# LiteRT's vendor libraries: libLiteRtCompilerPlugin_Halyard.so and libLiteRtDispatch_Halyard.so, each
# in a folder of its own, as LiteRT is told folders. Part of the component `litert`.

include(GNUInstallDirs)

set(litert_vendor ${CMAKE_BINARY_DIR}/generated/litert)
set(litert_vendor_files ${litert_vendor}/vendor_abi.h ${litert_vendor}/option_getters.h
  ${litert_vendor}/plugin.map ${litert_vendor}/dispatch.map)
add_custom_command(OUTPUT ${litert_vendor_files}
  COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/litert/vendor/generate.py
          ${CMAKE_SOURCE_DIR}/litert/vendor/litert_abi.json
          ${CMAKE_SOURCE_DIR}/importers/tflite/operators.json ${litert_vendor}
  DEPENDS litert/vendor/generate.py litert/vendor/litert_abi.json importers/tflite/operators.json)
add_custom_target(halyard_litert_vendor_files DEPENDS ${litert_vendor_files})

# halyard_litert_vendor_library(TARGET NAME FOLDER): what lies in the folder with what the two share.
# They are loaded for their entry points alone, which are all that they export.
function(halyard_litert_vendor_library target name folder)
  file(GLOB sources CONFIGURE_DEPENDS litert/vendor/*.cc litert/vendor/${folder}/*.cc)
  add_library(${target} SHARED ${sources})
  target_link_libraries(${target} PRIVATE halyard_tflite halyard_flags)
  add_dependencies(${target} halyard_litert_vendor_files)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
    UNITY_BUILD OFF LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/litert/${folder}
    LINK_DEPENDS ${litert_vendor}/${folder}.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${litert_vendor}/${folder}.map
    -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,-z,defs -Wl,--gc-sections)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halyard/litert/${folder}
    COMPONENT litert EXCLUDE_FROM_ALL)
  install(TARGETS ${target} LIBRARY DESTINATION halyard/native/litert/${folder}
    COMPONENT programs)
endfunction()

halyard_litert_vendor_library(halyard_litert_plugin LiteRtCompilerPlugin_Halyard plugin)
halyard_litert_vendor_library(halyard_litert_dispatch LiteRtDispatch_Halyard dispatch)
