# Language level, warnings, sanitizers, and the two ways a target is declared here.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(PTRAIN_UNITY "Compile many sources at once (off: each by itself, as clang-tidy reads them)" ON)
find_program(CCACHE ccache)
if(CCACHE)
  # What a precompiled header defines need not be looked at again: its content is part of what is hashed.
  # Paths are hashed relative to the source tree, so that the build with CUDA takes what the one without has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

if(PTRAIN_FAST_LINK)
  find_program(PTRAIN_LINKER NAMES mold ld.lld)
  if(PTRAIN_LINKER)
    get_filename_component(linker ${PTRAIN_LINKER} NAME)
    string(REPLACE "ld.lld" "lld" linker ${linker})
    add_link_options(-fuse-ld=${linker})
  endif()
endif()

add_library(ptrain_options INTERFACE)
target_include_directories(ptrain_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(ptrain_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror>)
# Nothing reads errno or floating-point exception flags; without them loops over conditional arithmetic vectorise.
target_compile_options(ptrain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno -fno-trapping-math>)
# Everything may become a part of libptrain.so, which exports ptrain.h alone.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
target_compile_options(ptrain_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fPIC> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fPIC>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # `omp simd` is a wish; sanitizers keep Clang from granting it
  target_compile_options(ptrain_options INTERFACE -Wno-pass-failed -Wreserved-identifier)
endif()
# What builds for no one machine are compiled for. A target may be for another processor than the rest: its property
# PTRAIN_MARCH.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(PTRAIN_PORTABLE_VARIANT avx2)
  set(portable -march=x86-64-v3)
  set(tuning $<IF:$<BOOL:${PTRAIN_NATIVE}>,-mprefer-vector-width=512,-Wno-psabi>)
else()
  set(PTRAIN_PORTABLE_VARIANT neon)
  set(portable -march=armv8-a)
  set(tuning -fsigned-char -Wno-psabi) # char is signed on x86-64
endif()
set(march $<IF:$<BOOL:${PTRAIN_NATIVE}>,-march=native,${portable}>)
set(march $<IF:$<BOOL:$<TARGET_PROPERTY:PTRAIN_MARCH>>,-march=$<TARGET_PROPERTY:PTRAIN_MARCH>,${march}>)
target_compile_options(ptrain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${march}> "$<$<COMPILE_LANGUAGE:CXX>:${tuning}>")
# GCC frees its memory less often: a tenth less time, for 200 MB more.
target_compile_options(ptrain_options INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=524288>)
if(PTRAIN_SANITIZE)
  target_compile_options(ptrain_options INTERFACE -fsanitize=${PTRAIN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ptrain_options INTERFACE -fsanitize=${PTRAIN_SANITIZE})
endif()
if(PTRAIN_FUZZ)
  target_compile_options(ptrain_options INTERFACE -fsanitize=fuzzer-no-link
    -fsanitize-coverage-ignorelist=${CMAKE_SOURCE_DIR}/tests/fuzz/not_steered_by.txt)
endif()

# ptrain_precompiled(NAME headers...): targets can reuse NAME's precompiled headers of the packages that most sources
# include. Every source still includes what it uses.
function(ptrain_precompiled name)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ptrain_options OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# ptrain_compile_together(TARGET): sources are compiled twenty at once, and with them what headers bring once for all.
function(ptrain_compile_together target)
  target_precompile_headers(${target} REUSE_FROM ptrain_headers)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PTRAIN_UNITY} UNITY_BUILD_BATCH_SIZE 20)
endfunction()

# ptrain_compile_quickly(TARGET): for code that runs a few times in a process, which takes a third longer to compile at -O3
# and is no faster for it.
function(ptrain_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release,RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# ptrain_library(NAME deps...): one static library of every .cpp below the calling folder.
function(ptrain_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(ptrain_${name} STATIC ${sources})
  ptrain_compile_together(ptrain_${name})
  target_link_libraries(ptrain_${name} PUBLIC ptrain_options ${ARGN})
endfunction()

# ptrain_compile_tests(TARGET [COMPUTES]): what is tested is optimised, tests are not: they compute little, and compile in
# three quarters of the time. COMPUTES: they have references that would take longer then than what is tested.
set(PTRAIN_OPTIMIZE_test -O0)
set(PTRAIN_OPTIMIZE_computing_test -O1)
function(ptrain_compile_tests target)
  set(kind test)
  if("COMPUTES" IN_LIST ARGN)
    set(kind computing_test)
  endif()
  target_compile_options(${target} PRIVATE ${PTRAIN_OPTIMIZE_${kind}})
  target_precompile_headers(${target} REUSE_FROM ptrain_${kind}_headers)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PTRAIN_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# ptrain_test(NAME deps...): one GoogleTest program of every .cpp below the calling folder. Its objects are
# NAME_cases, so that another program can run the same tests on another backend. COMPUTES is ptrain_compile_tests', and
# PROPERTIES name value... are the tests'.
function(ptrain_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "COMPUTES" "" "PROPERTIES")
  if(test_COMPUTES)
    set(computes COMPUTES)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name}_cases OBJECT ${sources})
  target_link_libraries(${name}_cases PUBLIC ${test_UNPARSED_ARGUMENTS} GTest::gtest)
  target_compile_definitions(${name}_cases PRIVATE PTRAIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_executable(${name})
  target_link_libraries(${name} PRIVATE ${name}_cases GTest::gtest_main)
  ptrain_compile_tests(${name}_cases ${computes})
  ptrain_compile_tests(${name} ${computes})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 ${test_PROPERTIES})
endfunction()
