// LoRA (Hu et al. 2021): beside each chosen linear layer y = W x, an adapter of low rank, y += scale * B A dropout(x),
// where scale is alpha / rank, or alpha / sqrt(rank) (rsLoRA, Kalajdzievski 2023).
// Layers and tensors have PEFT's names, but for its prefix "base_model.model.".
#pragma once

#include "core/config/config.h"
#include "core/model/model.h"

#include <memory>

namespace ptrain {

/// Whether `layer`, a linear layer's name in weights files such as "model.layers.0.self_attn.q_proj", is one of
/// `targets`: "all-linear" means every layer but the head, a name the layers that it ends, a pattern with * or ? whole
/// names.
bool is_lora_target(const std::vector<std::string>& targets, std::string_view layer);

/// The model with adapters at lora.targets. A is uniform in +-1 / sqrt(inputs), as PEFT's (He initialisation with
/// a = sqrt(5)), and B zero, so that training starts from the model as it is. Layers that are one product here have
/// adapters of their own, and one dropout mask. Throws Error{usage} naming the target that matches no linear layer.
std::unique_ptr<Model> add_lora(std::unique_ptr<Model> base, const LoraConfig& lora);

}  // namespace ptrain
