# cmake --install makes one tree, bin lib/ptrain share, that runs wherever it is copied: every package holds it or a part.
#   program    ptrain, the libraries that no Debian package brings, configurations, completions, manual page, licences
#   libraries  the libraries that a bare system lacks. CUDA's are not among them (2 GB): ptrain.sh finds them
#   library    libptrain.so with its header and what find_package and pkg-config read; needs those two
#   gpu        of a CUDA build: ptrain.sh, what scripts/gpu_validate.py needs, and cuDNN's plans where some were compiled
include(GNUInstallDirs)
set(CPACK_PACKAGE_CONTACT "ptrain <ptrain@localhost>")

set(packed_programs ptrain)
if(PTRAIN_TESTS AND PTRAIN_CUDA)
  list(APPEND packed_programs device_test)
endif()
set_target_properties(${packed_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/ptrain")
# DT_RPATH, unlike DT_RUNPATH, also leads to what the packed libraries need, once they have no path of their own (below).
foreach(program IN LISTS packed_programs)
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
endforeach()
install(TARGETS ptrain RUNTIME_DEPENDENCY_SET packed_libraries RUNTIME DESTINATION bin COMPONENT program)
set(system_libraries PRE_EXCLUDE_REGEXES "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so"
  "^lib(cuda|cudnn|cublas|nccl|nvidia|nvrtc)")
set(own_libraries ${CMAKE_SOURCE_DIR}/.deps/onednn/lib)
file(REAL_PATH ${own_libraries} own_libraries_path)
install(RUNTIME_DEPENDENCY_SET packed_libraries ${system_libraries} DIRECTORIES ${own_libraries}
  POST_INCLUDE_REGEXES "^${own_libraries}/" "^${own_libraries_path}/" POST_EXCLUDE_REGEXES "."
  LIBRARY DESTINATION lib/ptrain COMPONENT program)
install(RUNTIME_DEPENDENCY_SET packed_libraries ${system_libraries} DIRECTORIES ${own_libraries}
  POST_EXCLUDE_REGEXES "^${own_libraries}/" "^${own_libraries_path}/"
  LIBRARY DESTINATION lib/ptrain COMPONENT libraries)

install(DIRECTORY configs DESTINATION share/ptrain COMPONENT program)
install(FILES LICENSE DESTINATION share/doc/ptrain RENAME copyright COMPONENT program)
install(FILES README.md DESTINATION share/doc/ptrain COMPONENT program)
set(http_header "")
if(HTTPLIB_FOUND)
  set(http_header httplib.h)
endif()
foreach(component program libraries)
  install(CODE "set(component ${component})\nset(ptrain $<TARGET_FILE:ptrain>)\nset(cuda ${PTRAIN_CUDA})
    set(version ${PROJECT_VERSION})\nset(maintainer \"${CPACK_PACKAGE_CONTACT}\")
    set(compiled_in CLI/CLI.hpp nlohmann/json.hpp fmt/format.h ${http_header})\nset(deps ${CMAKE_SOURCE_DIR}/.deps)" COMPONENT ${component})
  install(SCRIPT cmake/FinishInstall.cmake COMPONENT ${component})
endforeach()

set_target_properties(libptrain PROPERTIES INSTALL_RPATH "$ORIGIN/ptrain")
target_link_options(libptrain PRIVATE -Wl,--disable-new-dtags)
install(TARGETS libptrain EXPORT ptrain LIBRARY DESTINATION lib COMPONENT library)
install(FILES core/api/ptrain.h DESTINATION include COMPONENT library)
install(EXPORT ptrain NAMESPACE ptrain:: FILE ptrain-config.cmake DESTINATION lib/cmake/ptrain COMPONENT library)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ptrain-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/ptrain.pc.in ${CMAKE_BINARY_DIR}/ptrain.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/ptrain-config-version.cmake DESTINATION lib/cmake/ptrain COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/ptrain.pc DESTINATION lib/pkgconfig COMPONENT library)

if(PTRAIN_CUDA)
  if(PTRAIN_TESTS)
    install(TARGETS device_test RUNTIME DESTINATION bin COMPONENT gpu)
  endif()
  install(PROGRAMS scripts/ptrain.sh DESTINATION . COMPONENT gpu)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/plans DESTINATION share/ptrain COMPONENT gpu OPTIONAL)  # scripts/compile_plans.sh
  install(PROGRAMS scripts/cuda_paths.sh scripts/gpu_validate.py DESTINATION scripts COMPONENT gpu)
  install(CODE [[file(CREATE_LINK share/ptrain/configs "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/configs" SYMBOLIC)]] COMPONENT gpu)
  install(DIRECTORY scripts/peers DESTINATION scripts COMPONENT gpu FILES_MATCHING PATTERN "*.py")
  install(DIRECTORY tests/golden DESTINATION tests COMPONENT gpu FILES_MATCHING PATTERN "*.safetensors" PATTERN "*.json")
endif()

# The .deb: Debian's own libraries are dependencies, which dpkg-shlibdeps finds. scripts/package.sh deb runs it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_PACKAGE_NAME ptrain)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "trains reference models, measures them, and deploys them
ptrain trains ResNet, BERT and the models around them from a YAML file, on CPUs
and GPUs. It reports throughput, memory and accuracy in JSON, compares flag
settings and versions by tests of significance, and serves what it trained.")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${CMAKE_BINARY_DIR}/deb/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/deb/triggers)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${own_libraries})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS dataset-fashion-mnist)
include(CPack)
