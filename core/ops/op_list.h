// All operators. A row here declares an op's kernels (`make_<op>`, defined in kernels/<op> of each backend: a missing
// one does not link), registers them in both backends and requires tests for the op.
#pragma once

#include <array>
#include <string_view>

/// Ops with kernels on all backends, by the name of their kernels (`Op::kernel`).
#define PTRAIN_OPS(OP)              \
  OP(accumulate)                    \
  OP(activation)                    \
  OP(activation_grad)               \
  OP(adaptive_avg_pool2d)           \
  OP(adaptive_avg_pool2d_grad)      \
  OP(add)                           \
  OP(append_cache)                  \
  OP(assign_boxes)                  \
  OP(attention)                     \
  OP(attention_grad)                \
  OP(avg_pool2d)                    \
  OP(avg_pool2d_grad)               \
  OP(balanced_sample)               \
  OP(batch_norm)                    \
  OP(batch_norm_apply)              \
  OP(batch_norm_finalize)           \
  OP(batch_norm_grad)               \
  OP(batch_norm_grad_apply)         \
  OP(batched_matmul)                \
  OP(bert_embedding)                \
  OP(bert_embedding_grad)           \
  OP(binary)                        \
  OP(binary_cross_entropy)          \
  OP(binary_cross_entropy_grad)     \
  OP(binary_grad)                   \
  OP(blur_pool2d)                   \
  OP(blur_pool2d_grad)              \
  OP(box_distances)                 \
  OP(box_distribution_loss)         \
  OP(box_distribution_loss_grad)    \
  OP(cached_attention)              \
  OP(cast)                          \
  OP(compare)                       \
  OP(concat)                        \
  OP(concat_grad)                   \
  OP(conv2d)                        \
  OP(conv2d_batch_norm)             \
  OP(conv2d_batch_norm_grad_input)  \
  OP(conv2d_batch_norm_grad_weight) \
  OP(conv2d_grad_bias)              \
  OP(conv2d_grad_input)             \
  OP(conv2d_grad_weight)            \
  OP(cross_attention)               \
  OP(cross_attention_grad)          \
  OP(ctc_loss)                      \
  OP(ctc_loss_grad)                 \
  OP(detect_objects)                \
  OP(detect_regions)                \
  OP(dropout)                       \
  OP(dropout_add_layer_norm)        \
  OP(dropout_add_layer_norm_grad)   \
  OP(dropout_grad)                  \
  OP(embedding)                     \
  OP(embedding_bag)                 \
  OP(embedding_grad)                \
  OP(encode_boxes)                  \
  OP(expand)                        \
  OP(gather)                        \
  OP(gather_token)                  \
  OP(gather_token_grad)             \
  OP(global_average_pool)           \
  OP(global_average_pool_grad)      \
  OP(grad_norm)                     \
  OP(group_norm)                    \
  OP(group_norm_grad)               \
  OP(layer_norm)                    \
  OP(layer_norm_grad)               \
  OP(layer_scale)                   \
  OP(layer_scale_grad)              \
  OP(linear)                        \
  OP(linear_cross_entropy)          \
  OP(linear_cross_entropy_grad)     \
  OP(linear_grad_input)             \
  OP(linear_grad_weight)            \
  OP(loss_gradient)                 \
  OP(loss_scale_update)             \
  OP(mask_targets)                  \
  OP(match_boxes)                   \
  OP(matvec)                        \
  OP(matvec_grad)                   \
  OP(max_pool2d)                    \
  OP(max_pool2d_grad)               \
  OP(mean_squared_error)            \
  OP(mean_squared_error_grad)       \
  OP(moving_average)                \
  OP(muon_update)                   \
  OP(norm_of_parts)                 \
  OP(normalize_image)               \
  OP(optimizer_update)              \
  OP(patch_embedding)               \
  OP(patch_embedding_grad)          \
  OP(pointwise_chain)               \
  OP(recurrent)                     \
  OP(recurrent_grad)                \
  OP(reduce)                        \
  OP(reshape)                       \
  OP(resize_bilinear)               \
  OP(resize_bilinear_grad)          \
  OP(rms_norm)                      \
  OP(rms_norm_grad)                 \
  OP(roi_align)                     \
  OP(roi_align_grad)                \
  OP(rotary_embedding)              \
  OP(rotary_table)                  \
  OP(scale)                         \
  OP(scale_channels)                \
  OP(scale_channels_grad)           \
  OP(scatter_add)                   \
  OP(sigmoid_focal_loss)            \
  OP(sigmoid_focal_loss_grad)       \
  OP(slice)                         \
  OP(slice_grad)                    \
  OP(softmax_cross_entropy)         \
  OP(softmax_cross_entropy_grad)    \
  OP(sparse_gradient)               \
  OP(sparse_update)                 \
  OP(swiglu)                        \
  OP(swiglu_grad)                   \
  OP(top_k)                         \
  OP(transpose)                     \
  OP(unary)                         \
  OP(unary_grad)                    \
  OP(where)

/// Ops with kernels on the CPU only: those of 8 and 4 bits, and of tables that ranks divide or that grow.
#define PTRAIN_CPU_OPS(OP)    \
  OP(block_embedding)         \
  OP(block_linear)            \
  OP(block_linear_grad_input) \
  OP(dequantize)              \
  OP(exchange_counts)         \
  OP(exchange_gradients)      \
  OP(exchange_ids)            \
  OP(exchange_rows)           \
  OP(exchange_wait)           \
  OP(find_rows)               \
  OP(known_ids)               \
  OP(local_rows)              \
  OP(merge_rows)              \
  OP(quantize)                \
  OP(quantized_conv2d)        \
  OP(quantized_linear)        \
  OP(rows_norm)               \
  OP(start_rows)              \
  OP(sum_bags)                \
  OP(unique_gradient)         \
  OP(unique_ids)

namespace ptrain {

#define PTRAIN_NAME(op) #op,
inline constexpr auto op_names = std::to_array<std::string_view>({PTRAIN_OPS(PTRAIN_NAME)});
inline constexpr auto cpu_op_names = std::to_array<std::string_view>({PTRAIN_CPU_OPS(PTRAIN_NAME)});
#undef PTRAIN_NAME

/// Ops that run the same way on every backend, by exec/all_reduce_kernels.
inline constexpr auto exchange_op_names = std::to_array<std::string_view>(
    {"all_gather_start", "all_reduce_start", "all_reduce_wait", "reduce_scatter_start"});

}  // namespace ptrain
