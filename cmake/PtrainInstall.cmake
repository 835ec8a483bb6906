# cmake --install makes one folder that can be copied to another machine: programs, the libraries that a bare system
# lacks, configurations and scripts. CUDA's libraries are not copied (2 GB): ptrain.sh finds them.

set(packed_programs ptrain)
if(PTRAIN_TESTS AND PTRAIN_CUDA)
  list(APPEND packed_programs device_test)
endif()
set_target_properties(${packed_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
# DT_RPATH, unlike DT_RUNPATH, also leads to what the packed libraries need, once they have no path of their own (below).
foreach(program IN LISTS packed_programs)
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
endforeach()
install(TARGETS ${packed_programs} RUNTIME_DEPENDENCY_SET packed_libraries RUNTIME DESTINATION bin COMPONENT pack)
install(RUNTIME_DEPENDENCY_SET packed_libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^lib(cuda|cudnn|cublas|nccl|nvidia|nvrtc)"
  DIRECTORIES ${CMAKE_SOURCE_DIR}/.deps/onednn/lib
  LIBRARY DESTINATION lib COMPONENT pack)
install(CODE [[
  file(GLOB libraries "${CMAKE_INSTALL_PREFIX}/lib/*.so*")
  foreach(library IN LISTS libraries)
    if(NOT IS_SYMLINK "${library}")
      file(RPATH_REMOVE FILE "${library}")
    endif()
  endforeach()
]] COMPONENT pack)
install(PROGRAMS scripts/ptrain.sh DESTINATION . COMPONENT pack)
install(PROGRAMS scripts/cuda_paths.sh scripts/gpu_validate.sh DESTINATION scripts COMPONENT pack)
install(DIRECTORY scripts/peers DESTINATION scripts COMPONENT pack FILES_MATCHING PATTERN "*.py")
install(DIRECTORY configs DESTINATION . COMPONENT pack)
install(DIRECTORY tests/golden DESTINATION tests COMPONENT pack FILES_MATCHING PATTERN "*.json")
install(FILES LICENSE README.md DESTINATION . COMPONENT pack)
