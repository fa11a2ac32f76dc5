# SPDX-License-Identifier: Apache-2.0
#
# NNAPI's C library: libneuralnetworks.so, libhalyard_nnapi_sl.so, and the component `nnapi`:
# cmake --install BUILD --component nnapi --prefix P. On Android it has the support library alone.

include(GNUInstallDirs)

# halyard_nnapi_library(TARGET NAME FORM MAP): a shared library of one form, which exports what the
# version script says.
function(halyard_nnapi_library target name form map)
  # Objects: what comes of an archive is hidden.
  add_library(${target} SHARED nnapi/forms/${form}.cc $<TARGET_OBJECTS:halyard_nnapi>)
  target_link_libraries(${target} PRIVATE halyard_hidl halyard_aidl)
  target_include_directories(${target} PRIVATE ${nnapi})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${map})
  add_dependencies(${target} halyard_nnapi_interfaces)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL
    -Wl,--no-undefined -Wl,-z,defs -Wl,--gc-sections)
endfunction()

# The name without a version is the one that programs ask for.
halyard_nnapi_library(halyard_neuralnetworks neuralnetworks neural_networks ${nnapi}/exports.map)
halyard_nnapi_library(halyard_nnapi_support halyard_nnapi_sl support_library
  ${nnapi}/support_library.map)

install(FILES ${nnapi}/android/NeuralNetworks.h ${nnapi}/android/SupportLibrary.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halyard/android COMPONENT nnapi EXCLUDE_FROM_ALL)
if(ANDROID)
  # As Gradle and the APK's own folders have it. An app that brought a libneuralnetworks.so would have
  # it in place of the system's, whose name it is: that one is not installed, and built on demand.
  target_link_libraries(halyard_nnapi_support PRIVATE log)
  set_target_properties(halyard_neuralnetworks PROPERTIES EXCLUDE_FROM_ALL ON)
  install(TARGETS halyard_nnapi_support LIBRARY DESTINATION jniLibs/${ANDROID_ABI} COMPONENT nnapi
    EXCLUDE_FROM_ALL)
  return()
endif()

configure_file(nnapi/neuralnetworks.pc.in ${CMAKE_BINARY_DIR}/generated/nnapi/neuralnetworks.pc
  @ONLY)
install(TARGETS halyard_neuralnetworks halyard_nnapi_support
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nnapi EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/generated/nnapi/neuralnetworks.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT nnapi EXCLUDE_FROM_ALL)
