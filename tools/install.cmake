# cmake --install: the shared library, its headers, find_package(onnx_cudnn), pkg-config and the programs. cpack makes a .deb and a .tar.gz.
include(CMakePackageConfigHelpers)

install(TARGETS onnx_cudnn EXPORT onnx_cudnn
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/onnx_cudnn)
install(EXPORT onnx_cudnn NAMESPACE onnx_cudnn:: DESTINATION ${package} FILE onnx_cudnn-targets.cmake COMPONENT development)
file(WRITE ${PROJECT_BINARY_DIR}/package/onnx_cudnn-config.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/onnx_cudnn-targets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/onnx_cudnn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/onnx_cudnn-config.cmake ${PROJECT_BINARY_DIR}/package/onnx_cudnn-config-version.cmake
  DESTINATION ${package} COMPONENT development)

# Folders are relative to the file itself, so that an unpacked archive works anywhere.
file(RELATIVE_PATH prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix ${prefix})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/onnx_cudnn.pc CONTENT [[
prefix=${pcfiledir}/@prefix@

Name: onnx_cudnn
Description: Runs ONNX models on NVIDIA GPUs
Version: @PROJECT_VERSION@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lonnx_cudnn
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
]] @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/onnx_cudnn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/third_party/NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

add_custom_target(installable DEPENDS onnx_cudnn)  # what is installed, without the tests
if(ONNX_CUDNN_PROGRAMS)
  add_dependencies(installable onnx-cudnn-run onnx-cudnn-opt onnx-cudnn-bench onnx-cudnn-tune-worker shell_files)
  install(TARGETS onnx-cudnn-run onnx-cudnn-opt onnx-cudnn-bench onnx-cudnn-tune-worker
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
endif()

if(ONNX_CUDNN_TRITON)
  # lib/triton/backends is what --backend-directory takes; the backend finds the library beside that folder or in its own.
  add_dependencies(installable triton_onnx_cudnn)
  set_target_properties(triton_onnx_cudnn PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../..")
  install(TARGETS triton_onnx_cudnn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/triton/backends/onnx_cudnn COMPONENT triton)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # no need for the tests
  set(CPACK_GENERATOR DEB TGZ)
  set(CPACK_PACKAGE_NAME onnx-cudnn)
  set(CPACK_PACKAGE_VENDOR onnx-cudnn)
  set(CPACK_PACKAGE_CONTACT "the maintainers of onnx-cudnn")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Runs ONNX models on NVIDIA GPUs: library, headers and programs")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_STRIP_FILES ON)
  execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "glibc " "" libc "${libc}")
  string(REGEX MATCH "^[0-9]+" compiler "${CMAKE_CXX_COMPILER_VERSION}")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${libc}), libstdc++6 (>= ${compiler})")
  set(CPACK_DEBIAN_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  include(CPack)
endif()
