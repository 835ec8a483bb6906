# Builds that are not for one machine hold the CPU backend in variants, one for each instruction set that own kernels pay
# with; core/cpu/variants.cpp takes the best that the processor has. oneDNN makes its code when it runs, and has none.

# ptrain_cpu_together(TARGET): of core/cpu's sources those that only call oneDNN, and those of a few plain loops, are
# compiled at once; each of the others takes its time.
function(ptrain_cpu_together target)
  set(cpu ${CMAKE_SOURCE_DIR}/core/cpu)
  set(conv2d ${cpu}/kernels/conv2d)
  file(GLOB callers CONFIGURE_DEPENDS ${cpu}/onednn/*.cpp ${conv2d}/conv2d.cpp ${conv2d}/conv2d_grad_[iw]*.cpp
    ${conv2d}/convolution.cpp ${cpu}/kernels/linear/linear*.cpp ${cpu}/kernels/quantization/quantized_*.cpp)
  file(GLOB plain CONFIGURE_DEPENDS ${cpu}/cpu_backend.cpp ${cpu}/host_memory.cpp ${cpu}/implementation_search.cpp
    ${cpu}/registry.cpp
    ${cpu}/kernels/loss_*.cpp ${cpu}/kernels/sparse_*.cpp ${cpu}/kernels/embedding*.cpp ${cpu}/kernels/gather_token.cpp
    ${cpu}/kernels/*_error.cpp ${cpu}/kernels/concat.cpp ${cpu}/kernels/moving_average.cpp ${cpu}/kernels/accumulate.cpp)
  set_source_files_properties(${callers} PROPERTIES UNITY_GROUP onednn)
  set_source_files_properties(${plain} PROPERTIES UNITY_GROUP plain)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PTRAIN_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# ptrain_cpu_variant(NAME FLAGS...): an object file ptrain_cpu_NAME.o (the variable of that name) of all of core/cpu,
# compiled with the flags. All in it but make_backend_NAME() is local: no inline function or template that was compiled
# for one instruction set can stand in for another's. So a variable of an inline function would be one for each variant.
function(ptrain_cpu_variant name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/cpu/*.cpp)
  add_library(ptrain_cpu_${name} OBJECT ${sources})
  target_link_libraries(ptrain_cpu_${name} PRIVATE ptrain_options ptrain_exec DNNL::dnnl)
  target_precompile_headers(ptrain_cpu_${name} PRIVATE ${PTRAIN_PRECOMPILED})  # for its own instruction set
  ptrain_cpu_together(ptrain_cpu_${name})
  target_compile_definitions(ptrain_cpu_${name} PRIVATE PTRAIN_CPU_VARIANT=${name} PTRAIN_CPU_ENTRY)
  # Symbols that are unique in a process cannot be made local.
  target_compile_options(ptrain_cpu_${name} PRIVATE -mprefer-vector-width=512 $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  list(POP_FRONT ARGN march)
  set_target_properties(ptrain_cpu_${name} PROPERTIES PTRAIN_MARCH ${march})
  target_compile_options(ptrain_cpu_${name} PRIVATE ${ARGN})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/ptrain_cpu_${name}.o)
  set(objects $<FILTER:$<TARGET_OBJECTS:ptrain_cpu_${name}>,EXCLUDE,\\.[gp]ch$>)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}.all ${objects}
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=*make_backend_${name}Ev" ${object}.all ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.all
    DEPENDS ptrain_cpu_${name} ${objects} COMMAND_EXPAND_LISTS VERBATIM)
  set(ptrain_cpu_${name}.o ${object} PARENT_SCOPE)
endfunction()
