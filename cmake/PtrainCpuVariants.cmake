# Builds that are not for one machine hold the CPU backend in variants, one for each instruction set that own kernels pay
# with; core/cpu/variants.cpp takes the best that the processor has. oneDNN makes its code when it runs, and has none.

# ptrain_cpu_variant(NAME FLAGS...): an object file ptrain_cpu_NAME.o (the variable of that name) of all of core/cpu,
# compiled with the flags. All in it but make_backend_NAME() is local: no inline function or template that was compiled
# for one instruction set can stand in for another's. So a variable of an inline function would be one for each variant.
function(ptrain_cpu_variant name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/cpu/*.cpp)
  add_library(ptrain_cpu_${name} OBJECT ${sources})
  target_link_libraries(ptrain_cpu_${name} PRIVATE ptrain_options ptrain_exec DNNL::dnnl)
  target_compile_definitions(ptrain_cpu_${name} PRIVATE PTRAIN_CPU_VARIANT=${name} PTRAIN_CPU_ENTRY)
  # Symbols that are unique in a process cannot be made local.
  target_compile_options(ptrain_cpu_${name} PRIVATE -mprefer-vector-width=512 $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  list(POP_FRONT ARGN march)
  set_target_properties(ptrain_cpu_${name} PROPERTIES PTRAIN_MARCH ${march})
  target_compile_options(ptrain_cpu_${name} PRIVATE ${ARGN})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/ptrain_cpu_${name}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}.all $<TARGET_OBJECTS:ptrain_cpu_${name}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=*make_backend_${name}Ev" ${object}.all ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.all
    DEPENDS ptrain_cpu_${name} $<TARGET_OBJECTS:ptrain_cpu_${name}> COMMAND_EXPAND_LISTS VERBATIM)
  set(ptrain_cpu_${name}.o ${object} PARENT_SCOPE)
endfunction()
