#include "core/cpu/registry.h"

#include "core/cpu/kernels.h"

#include <vector>

namespace ptrain::cpu {
namespace {

struct Entry {
  std::string_view op;
  KernelFactory make;
};

// Sorted by op type.
const std::vector<Entry> table = {
    {"accumulate", make_accumulate},
    {"add", make_add},
    {"attention", make_attention},
    {"attention_grad", make_attention_grad},
    {"batch_norm", make_batch_norm},
    {"batch_norm_apply", make_batch_norm_apply},
    {"batch_norm_finalize", make_batch_norm_finalize},
    {"batch_norm_grad", make_batch_norm_grad},
    {"batch_norm_grad_apply", make_batch_norm_grad_apply},
    {"bert_embedding", make_bert_embedding},
    {"bert_embedding_grad", make_bert_embedding_grad},
    {"cast", make_cast},
    {"conv2d", make_conv2d},
    {"conv2d_grad_input", make_conv2d_grad_input},
    {"conv2d_grad_weight", make_conv2d_grad_weight},
    {"dropout", make_dropout},
    {"dropout_add_layer_norm", make_dropout_add_layer_norm},
    {"dropout_add_layer_norm_grad", make_dropout_add_layer_norm_grad},
    {"dropout_grad", make_dropout_grad},
    {"embedding", make_embedding},
    {"embedding_grad", make_embedding_grad},
    {"gelu", make_activation},
    {"gelu_grad", make_activation_grad},
    {"global_average_pool", make_global_average_pool},
    {"global_average_pool_grad", make_global_average_pool_grad},
    {"grad_norm", make_grad_norm},
    {"layer_norm", make_layer_norm},
    {"layer_norm_grad", make_layer_norm_grad},
    {"linear", make_linear},
    {"linear_grad_input", make_linear_grad_input},
    {"linear_grad_weight", make_linear_grad_weight},
    {"loss_scale_update", make_loss_scale_update},
    {"max_pool2d", make_max_pool2d},
    {"max_pool2d_grad", make_max_pool2d_grad},
    {"normalize_image", make_normalize_image},
    {"normed_conv2d", make_normed_conv2d},
    {"normed_conv2d_grad_input", make_normed_conv2d_grad_input},
    {"normed_conv2d_grad_weight", make_normed_conv2d_grad_weight},
    {"optimizer_update", make_optimizer_update},
    {"relu", make_activation},
    {"relu_grad", make_activation_grad},
    {"scale", make_scale},
    {"seed_gradient", make_seed_gradient},
    {"select_token", make_select_token},
    {"select_token_grad", make_select_token_grad},
    {"softmax_cross_entropy", make_softmax_cross_entropy},
    {"softmax_cross_entropy_grad", make_softmax_cross_entropy_grad},
    {"tanh", make_activation},
    {"tanh_grad", make_activation_grad},
};

}  // namespace

KernelFactory find_kernel(std::string_view op_type) {
  for (const Entry& entry : table) {
    if (entry.op == op_type) return entry.make;
  }
  return nullptr;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : table) names.push_back(entry.op);
  return names;
}

}  // namespace ptrain::cpu
