// A deployed model as an ONNX file (opset 17), for other runtimes.
#pragma once

#include "core/runtime/deployed_model.h"
#include "core/runtime/model_artifact.h"

namespace ptrain {

inline constexpr const char* onnx_producer = "ptrain";  // named in the file

/// Writes `folder`/model.onnx, of `model`, which is deployed with padded texts, in fp32 or in int8 (as QuantizeLinear
/// and DequantizeLinear); the backend may or may not fold norms. Inputs: images u8 [N,H,W,3], resized and cropped as in
/// model.json; or input_ids, attention_mask and token_type_ids i64 [N,S], of sessions of a fixed S without the latter.
/// Outputs: logits f32 [N,classes], of lines of text [N,T,classes], or of a detector detections f32 [N,M,6] or
/// text_probabilities [N,H,W]. A model with a cache, in fp32, has the inputs and outputs of Optimum's exports:
/// input_ids and position_ids i64 [N,S], attention_mask i64 [N,P+S], past_key_values.<layer>.key and .value f32 [N,key
/// heads,P,channels of a head], where P tokens were read before and may be 0; logits f32 [N,S,ids], and
/// present.<layer>.key and .value of all P+S tokens. The file's metadata has class names, preprocessing and the hash of
/// model.json. A translator, which has a cache too, becomes two files: encoder_model.onnx reads input_ids and
/// attention_mask i64 [N,S] of sources and writes present.<layer>.encoder.key and .value f32 [N,heads,S,channels];
/// decoder_model.onnx has a language model's inputs and outputs with the names past_key_values.<layer>.decoder.key and
/// present.<layer>.decoder.key, and reads past_key_values.<layer>.encoder.key and .value, what the encoder wrote, with
/// encoder_attention_mask i64 [N,M]. Returns the files. Throws Error{failed} naming an op without a translation, a
/// model over protobuf's 2 GiB, or the file.
std::vector<std::filesystem::path> write_onnx(const std::filesystem::path& folder, DeployedModel& model,
                                              const ModelArtifact& trained);
/// Whether a model that predicts next tokens keeps keys and values of those before, up to `max_length`.
bool has_cached_steps(const Model& model, std::int64_t max_length);
/// The names of the files that write_onnx() would write.
std::vector<std::string> onnx_files(const Task& task);

}  // namespace ptrain
