# onnx_cudnn_build_facts(): writes the facts that onnx_cudnn::Version() returns to a file that version.cc alone includes, so that a commit
# compiles one file again.
function(onnx_cudnn_build_facts)
  include(${PROJECT_SOURCE_DIR}/third_party/versions.cmake)
  string(REGEX REPLACE ".*==" "" onnx "${ONNX_SOURCE}")
  set(commit "")
  # A source archive has no commit; a repository around it is another project's.
  find_package(Git QUIET)
  if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(ONNX_CUDNN_HAS_CUDA)
    set(cuda ${CMAKE_CUDA_COMPILER_VERSION})
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
    string(REGEX MATCH "nvidia-cudnn-frontend==([0-9.]+)" frontend "${CUDNN_FRONTEND_PACKAGES}")
    set(frontend ${CMAKE_MATCH_1})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/runtime/build_facts.inc.in ${PROJECT_BINARY_DIR}/generated/build_facts.inc @ONLY)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/session/version.cc PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/generated)
endfunction()
