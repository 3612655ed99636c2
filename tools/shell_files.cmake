# Completion for bash and zsh and man pages, which the programs print themselves: built and installed with them.
set(shell_files)
foreach(binary onnx-cudnn-run onnx-cudnn-opt onnx-cudnn-bench)
  set(bash ${PROJECT_BINARY_DIR}/share/bash-completion/completions/${binary})
  set(zsh ${PROJECT_BINARY_DIR}/share/zsh/site-functions/_${binary})
  set(man ${PROJECT_BINARY_DIR}/share/man/man1/${binary}.1)
  foreach(file ${bash} ${zsh} ${man})
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
  endforeach()
  add_custom_command(OUTPUT ${bash} ${zsh} ${man}
    COMMAND ${binary} --print-completion=bash > ${bash}
    COMMAND ${binary} --print-completion=zsh > ${zsh}
    COMMAND ${binary} --print-man > ${man}
    DEPENDS ${binary} VERBATIM)
  list(APPEND shell_files ${bash} ${zsh} ${man})
  install(FILES ${bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT shell)
  install(FILES ${zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT shell)
  install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT shell)
endforeach()
add_custom_target(shell_files ALL DEPENDS ${shell_files})
