// The CUDA kernel factories, one per op, each defined in kernels/<op>.cu, or in kernels/<op>.cpp where it only calls a
// library.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/kernel.h"

namespace ptrain::cuda {

/// The device outlives the kernel.
using CudaKernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext&, Device&);

std::unique_ptr<Kernel> make_accumulate(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_activation(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_activation_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_add(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_attention(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_attention_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_batch_norm(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_batch_norm_apply(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_batch_norm_finalize(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_batch_norm_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_batch_norm_grad_apply(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_bert_embedding(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_bert_embedding_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_cast(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_conv2d(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_conv2d_grad_weight(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_dropout(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_dropout_add_layer_norm(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_dropout_add_layer_norm_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_dropout_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_embedding(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_embedding_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_global_average_pool(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_global_average_pool_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_grad_norm(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_layer_norm(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_layer_norm_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_linear(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_linear_grad_input(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_linear_grad_weight(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_loss_scale_update(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_max_pool2d(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_max_pool2d_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_normalize_image(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_normed_conv2d(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_normed_conv2d_grad_input(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_normed_conv2d_grad_weight(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_optimizer_update(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_scale(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_seed_gradient(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_select_token(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_select_token_grad(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_softmax_cross_entropy(const KernelContext& context, Device& device);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const KernelContext& context, Device& device);

}  // namespace ptrain::cuda
