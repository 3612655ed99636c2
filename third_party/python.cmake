# Python environments that hold exactly the pinned packages, each checked against its hash.

# Ends configuration; the line is what tools/setup.sh shows.
function(onnx_cudnn_stop text)
  message(FATAL_ERROR "onnx-cudnn: ${text}")
endfunction()

# Runs a command. A failure ends configuration with one line; the command's own words are in the log that it names.
function(onnx_cudnn_run_or_stop what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE words ERROR_VARIABLE words)
  if(NOT code EQUAL 0)
    file(WRITE ${PROJECT_SOURCE_DIR}/build/failed.log "${words}")
    onnx_cudnn_stop("could not ${what} (log: build/failed.log)")
  endif()
endfunction()

# The first interpreter that the pinned wheels are for and that can make environments.
function(onnx_cudnn_find_python out)
  foreach(candidate /usr/bin/python3 python3 python3.12 python3.11)
    execute_process(COMMAND ${candidate} -c "import ensurepip, sys; print(sys.version); exit(sys.version_info[:2] not in ((3, 11), (3, 12)))"
      RESULT_VARIABLE code OUTPUT_VARIABLE version ERROR_QUIET)
    if(code EQUAL 0)
      set(${out} ${candidate} PARENT_SCOPE)
      set(${out}_version ${version} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  onnx_cudnn_stop("needs Python 3.11 or 3.12 with its venv module: install python3-venv")
endfunction()

# Makes `folder` an environment of the packages in `pins` (lines of a pip requirements file); made anew when pins or Python changed.
function(onnx_cudnn_python_environment folder pins)
  onnx_cudnn_find_python(python)
  string(SHA256 wanted "${python}${python_version}${pins}")
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
  file(LOCK ${folder}.lock GUARD FUNCTION TIMEOUT 3600)
  set(stamp ${folder}/made-of)
  if(EXISTS ${stamp})
    file(READ ${stamp} found)
    if(found STREQUAL wanted)
      return()
    endif()
  endif()
  string(REGEX REPLACE "( --hash=[^\n ]*)+\n" " " names "${pins}")
  message(STATUS "onnx-cudnn: installing Python packages into ${folder}: ${names}")
  file(REMOVE_RECURSE ${folder})
  onnx_cudnn_run_or_stop("make a Python environment in ${folder}" ${python} -m venv ${folder})
  file(WRITE ${folder}/requirements.txt "${pins}")
  onnx_cudnn_run_or_stop("install the Python packages: is this host online?" ${folder}/bin/python -m pip install --retries 2
    --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --requirement ${folder}/requirements.txt)
  file(WRITE ${stamp} ${wanted})
endfunction()
