// LoRA adapters as PEFT keeps them: a folder with adapter_config.json and adapter_model.safetensors.
#pragma once

#include "core/exec/variables.h"
#include "core/runtime/model_artifact.h"

#include <filesystem>

namespace ptrain {

namespace adapter_files {
inline constexpr const char* settings = "adapter_config.json";
inline constexpr const char* weights = "adapter_model.safetensors";
inline constexpr const char* pickle = "adapter_model.bin";  // of older versions
inline constexpr const char* prefix = "base_model.model.";  // of tensors' names
}  // namespace adapter_files

/// Takes rank, alpha, targets and rslora from the adapter in `lora.weights`, if it names one. Throws Error{usage} where
/// one of these keys is set to another value, Error{failed} naming the file and the field that is missing, wrong or not
/// supported.
void read_adapter_settings(LoraConfig& lora);

/// Reads an adapter's tensors into the variables of a model with adapters. Throws Error{failed} naming the file and the
/// tensor that is missing, of another shape, not finite or of a layer without an adapter.
void load_adapter(const std::filesystem::path& folder, const Model& model, Variables& variables);

/// Throws Error{usage} for a trained model without adapters.
void require_adapters(const ModelArtifact& trained);

/// Writes the adapters of a trained model. Throws Error{usage} if it has none, Error{failed} on I/O.
void write_adapter(const ModelArtifact& trained, const Model& model, const std::filesystem::path& out);

/// Writes the trained model without adapters: W + scale * B A, computed in fp32, in place of each adapted weight W.
/// `base` is the model without adapters. Throws as write_adapter does.
void write_merged(const ModelArtifact& trained, const Model& base, const std::filesystem::path& out);

}  // namespace ptrain
