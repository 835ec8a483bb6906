# CUDA, cuDNN 9, cuBLASLt and NCCL as one target, ptrain_cuda_libraries; included only with PTRAIN_CUDA=ON.
# They are looked for in the toolkit (CUDACXX, nvcc on PATH, /usr/local/cuda) and where pip puts them
# (site-packages/nvidia/*). No GPU and no driver are needed to build.

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
endif()
find_program(PTRAIN_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  if(NOT PTRAIN_NVCC)
    message(FATAL_ERROR "PTRAIN_CUDA: no nvcc; install CUDA 12.4 or newer, or set CUDACXX")
  endif()
  set(CMAKE_CUDA_COMPILER ${PTRAIN_NVCC})
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit 12.4 REQUIRED)

file(GLOB pip_roots LIST_DIRECTORIES true
  $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/* /usr/lib/python3*/dist-packages/nvidia/*
  /usr/local/lib/python3*/*-packages/nvidia/* $ENV{HOME}/.local/lib/python3*/site-packages/nvidia/*)
set(cuda_roots ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_INCLUDE_DIRS}/.. ${pip_roots})

# ptrain_cuda_library(TARGET header soname): an imported library found beside the toolkit or under pip's folders.
function(ptrain_cuda_library target header library)
  find_path(${target}_INCLUDE ${header} HINTS ${cuda_roots} PATH_SUFFIXES include)
  find_library(${target}_LIBRARY NAMES ${ARGN} ${library} HINTS ${cuda_roots} PATH_SUFFIXES lib lib64)
  if(NOT ${target}_INCLUDE OR NOT ${target}_LIBRARY)
    message(FATAL_ERROR "PTRAIN_CUDA: ${header} and ${library} were not found; set ${target}_INCLUDE and ${target}_LIBRARY")
  endif()
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_LIBRARY})
  # System headers: their warnings are not ours.
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  message(STATUS "${target}: ${${target}_LIBRARY}")
endfunction()

ptrain_cuda_library(ptrain_cudnn cudnn.h cudnn libcudnn.so.9)
ptrain_cuda_library(ptrain_cublas_lt cublasLt.h cublasLt libcublasLt.so.13 libcublasLt.so.12)
ptrain_cuda_library(ptrain_nccl nccl.h nccl libnccl.so.2)

# Headers only: what scripts/install_deps.sh --cuda unpacked, else the system's.
find_path(PTRAIN_CUDNN_FRONTEND cudnn_frontend.h HINTS ${CMAKE_SOURCE_DIR}/.deps/cudnn_frontend/include)
if(NOT PTRAIN_CUDNN_FRONTEND)
  message(FATAL_ERROR "PTRAIN_CUDA: no cudnn_frontend.h; run scripts/install_deps.sh --cuda, or install "
                      "libcudnn-frontend-dev and set PTRAIN_CUDNN_FRONTEND to the folder of its headers")
endif()

add_library(ptrain_cuda_libraries INTERFACE)
target_include_directories(ptrain_cuda_libraries SYSTEM INTERFACE ${PTRAIN_CUDNN_FRONTEND})
target_link_libraries(ptrain_cuda_libraries INTERFACE CUDA::cudart_static ptrain_cudnn ptrain_cublas_lt ptrain_nccl CUDA::nvrtc ${CMAKE_DL_LIBS})
target_compile_options(ptrain_cuda_libraries INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror>)
if(PTRAIN_TESTS)  # kernel_resources.py reads the PTX
  target_compile_options(ptrain_cuda_libraries INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--no-compress>)
endif()

# ptrain_cuda_together(VARIABLE): the .cu files below core/cuda, eight at once as ptrain_compile_together does it: nvcc
# takes three seconds for the headers of each file, and CMake's own unity builds are for C++ alone before 3.31.
function(ptrain_cuda_together variable)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/cuda/*.cu)
  if(PTRAIN_UNITY)
    list(LENGTH sources count)
    math(EXPR last "(${count} - 1) / 8")
    foreach(part RANGE ${last})
      math(EXPR first "${part} * 8")
      list(SUBLIST sources ${first} 8 included)
      list(TRANSFORM included REPLACE "^${CMAKE_SOURCE_DIR}/(.*)$" "#include \"\\1\"\n")
      list(JOIN included "" content)
      set(together ${CMAKE_BINARY_DIR}/core/cuda/kernels_${part}.cu)
      file(CONFIGURE OUTPUT ${together} CONTENT "${content}" @ONLY)
      list(APPEND parts ${together})
    endforeach()
    set(sources ${parts})
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
