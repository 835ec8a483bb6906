// oneDNN helpers for the CPU kernels, which hide the difference between the 2.x and 3.x interfaces.
#pragma once

#include "core/graph/tensor_desc.h"

#include <dnnl.hpp>

#include <utility>

namespace ptrain::cpu {

/// oneDNN's type for a dtype; undef for i64, which it lacks.
inline dnnl::memory::data_type onednn_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return dnnl::memory::data_type::f32;
    case DType::bf16:
      return dnnl::memory::data_type::bf16;
    case DType::f16:
      return dnnl::memory::data_type::f16;
    case DType::i32:
      return dnnl::memory::data_type::s32;
    case DType::u8:
      return dnnl::memory::data_type::u8;
    case DType::s8:
      return dnnl::memory::data_type::s8;
    case DType::i64:
      break;
  }
  return dnnl::memory::data_type::undef;
}

/// Attributes for a primitive that uses scratch memory from the caller.
inline dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// The primitive descriptor of a forward operation; `args` are those of 2.x's operation descriptor in the same order.
/// Throws dnnl::error when no implementation fits.
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc forward_desc(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, args..., attributes};
#else
  return {typename Primitive::desc(args...), attributes, engine};
#endif
}

/// The same for a backward operation, which takes its forward descriptor as a hint.
template <typename Primitive, typename Hint, typename... Args>
typename Primitive::primitive_desc backward_desc(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                 const Hint& hint, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, args..., hint, attributes};
#else
  return {typename Primitive::desc(args...), attributes, engine, hint};
#endif
}

/// Appends an elementwise function to a primitive.
inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm function, float alpha = 0, float beta = 0) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(function, alpha, beta);
#else
  ops.append_eltwise(1.0f, function, alpha, beta);
#endif
}

}  // namespace ptrain::cpu
