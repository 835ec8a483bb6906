# Builds that are not for one machine hold the CPU backend in variants, one for each instruction set that own kernels pay
# with; core/cpu/variants.cpp takes the best that the processor has. oneDNN makes its code when it runs, and has none.

# ptrain_cpu_together(TARGET): of core/cpu's sources those whose headers take longer to compile than they do are compiled
# together with their neighbours: those that only call oneDNN, and those of a few loops. Each of the others takes its time.
function(ptrain_cpu_together target)
  set(cpu ${CMAKE_SOURCE_DIR}/core/cpu)
  set(kernels ${cpu}/kernels)
  set(conv2d ${kernels}/conv2d)
  file(GLOB onednn CONFIGURE_DEPENDS ${cpu}/onednn/*.cpp ${conv2d}/conv2d.cpp ${conv2d}/conv2d_grad_[iw]*.cpp
    ${conv2d}/convolution.cpp ${kernels}/linear/linear*.cpp ${kernels}/quantization/quantized_*.cpp)
  file(GLOB plain CONFIGURE_DEPENDS ${cpu}/cpu_backend.cpp ${cpu}/host_memory.cpp ${cpu}/implementation_search.cpp
    ${cpu}/cpu_kernel_registry.cpp ${cpu}/simd/*.cpp
    ${kernels}/loss_*.cpp ${kernels}/sparse_*.cpp ${kernels}/embedding*.cpp ${kernels}/gather_token.cpp
    ${kernels}/*_error.cpp ${kernels}/concat.cpp ${kernels}/moving_average.cpp ${kernels}/accumulate.cpp)
  file(GLOB detection CONFIGURE_DEPENDS ${kernels}/detection/*.cpp)
  file(GLOB tensor CONFIGURE_DEPENDS ${kernels}/tensor/*.cpp)
  file(GLOB images CONFIGURE_DEPENDS ${kernels}/*pool*.cpp ${kernels}/*image*.cpp ${kernels}/*_channels.cpp
    ${kernels}/resize_*.cpp)
  file(GLOB text CONFIGURE_DEPENDS ${kernels}/*_cross_entropy.cpp ${kernels}/rotary_embedding.cpp
    ${kernels}/swiglu.cpp ${kernels}/layer_scale.cpp ${kernels}/optimizer_update.cpp ${kernels}/muon_update.cpp
    ${kernels}/grad_norm.cpp)
  foreach(group IN ITEMS onednn plain detection tensor images text)
    set_source_files_properties(${${group}} PROPERTIES UNITY_GROUP ${group})
  endforeach()
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
