# onnx_cudnn_enable_cuda(): the CUDA compiler, its headers, and what the CUDA halves link against. Sets ONNX_CUDNN_HAS_CUDA.
#   ONNX_CUDNN_CUDA=OFF    without
#   ONNX_CUDNN_CUDA=AUTO   with an installed toolkit; else, where there is a GPU driver, with the pinned wheels; else without
#   ONNX_CUDNN_CUDA=ON     the same, and with the wheels where there is no driver either
# Nothing links libcudnn or libcublasLt: they are opened at run time (runtime/cuda/find_library.h).
include(${CMAKE_CURRENT_LIST_DIR}/versions.cmake)

# Where toolkits are installed; the first that is new enough is taken.
set(roots $ENV{CUDA_PATH} $ENV{CUDA_HOME})
find_program(nvcc_on_path NAMES nvcc NO_CACHE)
if(nvcc_on_path)
  cmake_path(GET nvcc_on_path PARENT_PATH nvcc_folder)
  cmake_path(GET nvcc_folder PARENT_PATH nvcc_root)
  list(APPEND roots ${nvcc_root})
endif()
set(ONNX_CUDNN_CUDA_ROOTS ${roots} /usr/local/cuda CACHE STRING "Folders that may hold an installed CUDA toolkit")

# Makes `folder` what the wheels of `pins` (lines of a pip requirements file) hold in their folder `part`; once for these pins.
function(folder_from_wheels folder pins part)
  string(SHA256 wanted "${pins} ${part}")
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
  file(LOCK ${folder}.lock GUARD FUNCTION TIMEOUT 3600)
  if(EXISTS ${folder}/made-of)
    file(READ ${folder}/made-of found)
    if(found STREQUAL wanted)
      return()
    endif()
  endif()
  string(REGEX REPLACE " --hash=[^\n]*\n" " " names "${pins}")
  string(STRIP "${names}" names)
  message(STATUS "onnx-cudnn: downloading ${names}")
  set(download ${folder}.download)
  file(REMOVE_RECURSE ${download})
  file(WRITE ${download}/requirements.txt "${pins}")
  onnx_cudnn_run_or_stop("download ${names}: is this host online?" ${CMAKE_SOURCE_DIR}/build/python/bin/python -m pip download
    --retries 2 --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --python-version 3.11
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64
    --dest ${download}/wheels --requirement ${download}/requirements.txt)
  file(GLOB wheels ${download}/wheels/*.whl)
  foreach(wheel ${wheels})
    file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${download}/unpacked PATTERNS "${part}/*")
  endforeach()
  file(REMOVE_RECURSE ${folder})
  file(RENAME ${download}/unpacked/${part} ${folder})
  file(REMOVE_RECURSE ${download})
  file(WRITE ${folder}/made-of ${wanted})
endfunction()

# A toolkit's folder of the pinned wheels.
function(cuda_from_wheels out)
  set(folder ${CMAKE_SOURCE_DIR}/build/cuda-toolkit)
  folder_from_wheels(${folder} "${CUDA_PACKAGES}" nvidia/cu13)
  file(CREATE_LINK lib ${folder}/lib64 SYMBOLIC)  # where nvcc looks
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

# The first of ONNX_CUDNN_CUDA_ROOTS whose nvcc is new enough, else empty; one that is not is named.
function(find_cuda_toolkit out)
  set(${out} "" PARENT_SCOPE)
  foreach(root ${ONNX_CUDNN_CUDA_ROOTS})
    if(NOT EXISTS ${root}/bin/nvcc)
      continue()
    endif()
    execute_process(COMMAND ${root}/bin/nvcc --version OUTPUT_VARIABLE words ERROR_QUIET)
    if(words MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL CUDA_VERSION_WANTED)
      set(${out} ${root} PARENT_SCOPE)
      return()
    endif()
    message(STATUS "onnx-cudnn: leaving ${root} alone: CUDA ${CMAKE_MATCH_1}, needs ${CUDA_VERSION_WANTED}")
  endforeach()
endfunction()

# The folder of the toolkit to build with, else empty.
function(choose_cuda_toolkit out)
  set(${out} "" PARENT_SCOPE)
  if(NOT ONNX_CUDNN_CUDA MATCHES "^(AUTO|ON|OFF)$")
    onnx_cudnn_stop("ONNX_CUDNN_CUDA is ${ONNX_CUDNN_CUDA}, expected AUTO, ON or OFF")
  endif()
  if(ONNX_CUDNN_CUDA STREQUAL OFF)
    return()
  endif()
  find_cuda_toolkit(root)
  if(NOT root)
    execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE driver OUTPUT_QUIET ERROR_QUIET)
    if(driver EQUAL 0 OR ONNX_CUDNN_CUDA STREQUAL ON)
      cuda_from_wheels(root)
    endif()
  endif()
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

# third_party::cudart, linked statically, and third_party::cudnn_frontend, headers alone.
function(onnx_cudnn_cuda_targets root)
  onnx_cudnn_import(cudart ARCHIVE ${root}/lib64/libcudart_static.a INCLUDES ${root}/include LIBS Threads::Threads ${CMAKE_DL_LIBS} rt)
  set(cudnn ${root})
  if(NOT EXISTS ${root}/include/cudnn.h)
    set(cudnn ${CMAKE_SOURCE_DIR}/build/cudnn)
    folder_from_wheels(${cudnn} "${CUDNN_PACKAGES}" nvidia/cudnn)
  endif()
  onnx_cudnn_cache(cache)
  string(SHA256 key "${CUDNN_FRONTEND_PACKAGES}")
  set(frontend ${cache}/cudnn-frontend-${key}/include)  # its headers name each other by ../include
  folder_from_wheels(${frontend} "${CUDNN_FRONTEND_PACKAGES}" include)
  add_library(third_party_cudnn_frontend INTERFACE)
  target_include_directories(third_party_cudnn_frontend SYSTEM INTERFACE ${frontend} ${cudnn}/include ${root}/include)
  add_library(third_party::cudnn_frontend ALIAS third_party_cudnn_frontend)
endfunction()

# A macro: CMake enables a language for the folder that asks, and not in a function.
macro(onnx_cudnn_enable_cuda)
  choose_cuda_toolkit(cuda_root)
  set(ONNX_CUDNN_HAS_CUDA FALSE)
  if(cuda_root)
    message(STATUS "onnx-cudnn: CUDA from ${cuda_root}")
    set(ONNX_CUDNN_HAS_CUDA TRUE)
    set(CMAKE_CUDA_COMPILER ${cuda_root}/bin/nvcc)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    if(ccache AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${ccache})
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # Machine code for what the kernels are written for, and code that the drivers of later GPUs compile.
      set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real 100-real 100-virtual)
    endif()
    enable_language(CUDA)
    # CMake before 3.26 does not know that nvcc has C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    onnx_cudnn_cuda_targets(${cuda_root})
  endif()
endmacro()
