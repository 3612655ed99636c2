# onnx_cudnn_deps(out): the prefix with Abseil, Protobuf and ONNX built for this compiler and sanitizer; builds it when missing.

# Undefined behaviour is looked for in our own code: in these libraries it doubles the time of compiling.
string(REPLACE "," ";" DEPS_SANITIZE "${ONNX_CUDNN_SANITIZE}")
list(REMOVE_ITEM DEPS_SANITIZE undefined)
list(JOIN DEPS_SANITIZE "," DEPS_SANITIZE)

# Downloads the source package `spec` (name==version), which pip checks against its sha256 before it opens it, and unpacks it.
function(fetch_source spec sha256 folder)
  if(EXISTS ${folder}/.complete)
    return()
  endif()
  cmake_path(GET folder PARENT_PATH cache)
  onnx_cudnn_python_environment(${cache}/download-tools "${SOURCE_TOOLS}")
  message(STATUS "onnx-cudnn: downloading ${spec}")
  set(download ${folder}.download)
  file(REMOVE_RECURSE ${folder} ${download})
  file(WRITE ${download}/requirement.txt "${spec} --hash=sha256:${sha256}\n")
  onnx_cudnn_run_or_stop("download ${spec}: is this host online?" ${cache}/download-tools/bin/python -m pip download --retries 2
    --disable-pip-version-check --no-deps --no-build-isolation --no-binary :all: --require-hashes
    --dest ${download} --requirement ${download}/requirement.txt)
  file(GLOB archive ${download}/*.tar.gz)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${download}/unpacked)
  file(GLOB unpacked LIST_DIRECTORIES true ${download}/unpacked/*)
  file(RENAME ${unpacked} ${folder})
  file(REMOVE_RECURSE ${download})
  file(TOUCH ${folder}/.complete)
endfunction()

# The folder, outside the clone, of what is downloaded and built once.
function(onnx_cudnn_cache out)
  if(DEFINED ENV{ONNX_CUDNN_DEPS})
    set(${out} $ENV{ONNX_CUDNN_DEPS} PARENT_SCOPE)
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(${out} $ENV{XDG_CACHE_HOME}/onnx-cudnn PARENT_SCOPE)
  elseif(DEFINED ENV{HOME})
    set(${out} $ENV{HOME}/.cache/onnx-cudnn PARENT_SCOPE)
  else()
    set(${out} ${PROJECT_SOURCE_DIR}/build/dependencies PARENT_SCOPE)
  endif()
endfunction()

# The prefix of the cache for third_party/`recipe`, built by this compiler and sanitizer from sources whose hashes are `hashes`.
function(dependency_prefix out recipe hashes)
  onnx_cudnn_cache(cache)
  file(SHA256 ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${recipe}/CMakeLists.txt recipe_hash)
  string(SHA256 key "${hashes} ${recipe_hash} ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION} ${DEPS_SANITIZE}")
  string(SUBSTRING ${key} 0 16 key)
  set(${out} ${cache}/${key} PARENT_SCOPE)
endfunction()

# Builds third_party/`recipe` into `prefix`; `what` is for messages, the other arguments go to CMake.
function(build_dependency prefix recipe what)
  message(STATUS "onnx-cudnn: building ${what} once into ${prefix}")
  file(REMOVE_RECURSE ${prefix})
  set(launcher ${CMAKE_CXX_COMPILER_LAUNCHER})
  if(launcher)
    list(GET launcher -1 launcher)  # ccache alone: what sets its environment is for precompiled headers
  endif()
  onnx_cudnn_run_or_stop("configure ${what}" ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${recipe} -B ${prefix}/build
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher} -DCMAKE_INSTALL_PREFIX=${prefix}
    "-DSANITIZE=${DEPS_SANITIZE}" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${prefix}/build RESULT_VARIABLE code)  # shows its progress
  if(NOT code EQUAL 0)
    onnx_cudnn_stop("could not build ${what} in ${prefix}/build")
  endif()
  onnx_cudnn_run_or_stop("install ${what}" ${CMAKE_COMMAND} --install ${prefix}/build)
  file(REMOVE_RECURSE ${prefix}/build)
  file(TOUCH ${prefix}/.complete)
endfunction()

# Sets `out` to PROJECT_BINARY_DIR/`link`, a link to the prefix of third_party/`recipe`, and builds that when it is missing.
#   what     for messages
#   sources  ABSEIL, ONNX and PROTOBUF in the order of their hashes; each is unpacked into a folder NAME-HASH of the cache
#   ARGN     goes to CMake
function(link_dependency out link recipe what sources)
  onnx_cudnn_cache(cache)
  set(hashes "")
  foreach(source IN LISTS sources)
    list(APPEND hashes ${${source}_SOURCE_SHA256})
  endforeach()
  list(JOIN hashes " " hashes)
  dependency_prefix(prefix ${recipe} "${hashes}")
  # One path whatever the key: ccache takes files compiled against equal headers of another prefix.
  file(CREATE_LINK ${prefix} ${PROJECT_BINARY_DIR}/${link} SYMBOLIC)
  set(${out} ${PROJECT_BINARY_DIR}/${link} PARENT_SCOPE)
  if(EXISTS ${prefix}/.complete)
    return()
  endif()
  file(MAKE_DIRECTORY ${cache})
  # Two configurations at once would build into one folder: the second waits.
  file(LOCK ${cache}/lock GUARD FUNCTION TIMEOUT 3600)
  if(EXISTS ${prefix}/.complete)
    return()
  endif()
  foreach(source IN LISTS sources)
    string(TOLOWER ${source} name)
    set(hash ${${source}_SOURCE_SHA256})
    fetch_source(${${source}_SOURCE} ${hash} ${cache}/${name}-${hash})
  endforeach()
  onnx_cudnn_python_environment(${cache}/download-tools "${SOURCE_TOOLS}")
  build_dependency(${prefix} ${recipe} "${what}" ${ARGN})
endfunction()

function(onnx_cudnn_deps out)
  onnx_cudnn_cache(cache)
  link_dependency(linked dependencies source "Abseil, Protobuf and ONNX (minutes)" "ONNX;ABSEIL;PROTOBUF"
    -DABSL_ROOT=${cache}/abseil-${ABSEIL_SOURCE_SHA256}/third_party/abseil-cpp
    -DPROTOBUF_ROOT=${cache}/protobuf-${PROTOBUF_SOURCE_SHA256}/third_party/protobuf -DPROTOC=${cache}/download-tools/bin/protoc
    -DONNX_ROOT=${cache}/onnx-${ONNX_SOURCE_SHA256})
  set(${out} ${linked} PARENT_SCOPE)
endfunction()

# onnx_cudnn_re2(out): the same for RE2, in a prefix of its own, so that a change here does not build the others again.
function(onnx_cudnn_re2 out)
  onnx_cudnn_cache(cache)
  link_dependency(linked re2 re2 "RE2" "ABSEIL" -DRE2_ROOT=${cache}/abseil-${ABSEIL_SOURCE_SHA256}/third_party/re2)
  set(${out} ${linked} PARENT_SCOPE)
endfunction()
