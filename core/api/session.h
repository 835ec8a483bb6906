// What a ptrain_model is made of: an opened folder on a device of its own, asked with threads of its own.
#pragma once

#include "core/config/device_choice.h"
#include "core/runtime/loaded_model.h"
#include "core/runtime/predictor.h"
#include "core/runtime/tensors.h"
#include "core/runtime/text_encoder.h"

#include <mutex>

namespace ptrain::api {

struct Settings {
  std::filesystem::path folder;
  DeviceChoice device;
  AmpLevel precision = AmpLevel::O0;
  std::int64_t max_batch = 32;
  bool search = false;
  int threads = 0;  // 0: what the machine grants
};

/// Methods may be called by several threads at once; answers come one after the other.
class Session {
 public:
  /// Throws as open_model and DeployedModel do.
  explicit Session(Settings settings);

  const Settings& settings() const { return settings_; }
  const DatasetInfo& data() const { return opened_.trained.data; }
  const std::vector<ClientTensor>& inputs() const { return inputs_; }
  /// What a row of the answers holds.
  const std::vector<TensorSpec>& answers() const { return predictor_->outputs(); }
  /// The shape of one of them, -1 for N.
  const Shape& answer_shape(std::size_t index) const { return answer_shapes_[index]; }

  /// Pixels [size, size, 3] of an image file's bytes. Throws BadSample; Error{usage} where the model reads text.
  void encode_image(std::span<const std::uint8_t> file, std::span<std::uint8_t> pixels) const;
  /// Ids and token types [max_length]; returns the tokens. Throws Error{usage} where the model reads images or the text
  /// is no UTF-8, Error{failed} where the model has no vocabulary.
  std::int32_t encode_text(std::string_view text, std::span<std::int32_t> ids, std::span<std::int32_t> types) const;
  /// The task's answers(). Throws as make_batch and Predictor::run do.
  Batch run(std::span<const InputTensor> inputs);

 private:
  Settings settings_;
  LoadedModel opened_;
  std::vector<ClientTensor> inputs_;
  std::vector<Shape> answer_shapes_;
  std::optional<TextEncoder> encoder_;
  std::unique_ptr<Backend> backend_;
  std::optional<Predictor> predictor_;
  std::mutex running_;
};

}  // namespace ptrain::api
