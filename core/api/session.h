// The implementation of ptrain_model: an opened model on its own device, with its own threads.
#pragma once

#include "core/api/calling_thread.h"
#include "core/config/device_choice.h"
#include "core/runtime/decoding/translation_tokens.h"
#include "core/runtime/loaded_model.h"
#include "core/runtime/predictor.h"
#include "core/runtime/tensors.h"
#include "core/runtime/text_encoder.h"

namespace ptrain::api {

struct Settings {
  std::filesystem::path folder;
  DeviceChoice device;
  AmpLevel precision = AmpLevel::O0;
  std::int64_t max_batch = 32;
  bool search = false;
  int threads = 0;         // 0: all that the machine grants
  std::string model_hash;  // of the model that the folder must hold; empty: any, and then that of what it held
};

/// Thread-safe; calls are processed one after the other.
class Session {
 public:
  /// Throws as open_model and DeployedModel do, and Error{failed} if the folder holds another model than settings say.
  explicit Session(Settings settings);

  const Settings& settings() const { return settings_; }
  const DatasetInfo& data() const { return opened_.trained.data; }
  /// Whether it reads and writes texts, and has neither inputs() nor answers().
  bool translates() const { return opened_.task->translates(); }
  const std::vector<ClientTensor>& inputs() const { return inputs_; }
  /// The contents of a row of the outputs.
  const std::vector<TensorSpec>& answers() const { return answers_; }
  /// The shape of one output, -1 for N.
  const Shape& answer_shape(std::size_t index) const { return answer_shapes_[index]; }

  /// Decodes an image file to pixels [size, size, 3]. Throws BadSample; Error{usage} if the model reads text.
  void encode_image(std::span<const std::uint8_t> file, std::span<std::uint8_t> pixels) const;
  /// Encodes text to ids and token types [max_length]; returns the number of tokens. Throws Error{usage} if the model
  /// reads images or the text is not UTF-8, Error{failed} if the model has no vocabulary.
  std::int32_t encode_text(std::string_view text, std::span<std::int32_t> ids, std::span<std::int32_t> types) const;
  /// Returns the task's answers(). Throws as make_batch and Predictor::run do. Not for a translator.
  Batch run(std::span<const InputTensor> inputs);
  /// The translation of each text. Throws Error{usage} if the model does not translate, for a text that is not UTF-8
  /// and for one of more tokens than the model reads.
  std::vector<std::string> translate(std::span<const std::string> texts);

 private:
  void prepare();
  void require_process() const;

  Settings settings_;
  LoadedModel opened_;
  std::vector<ClientTensor> inputs_;
  std::vector<TensorSpec> answers_;
  std::vector<Shape> answer_shapes_;
  std::optional<TextEncoder> encoder_;
  std::unique_ptr<Backend> backend_;
  std::optional<Predictor> predictor_;
  std::optional<TranslationTokens> tokens_;  // of a translator, in place of a predictor
  std::optional<Translator> translator_;
  pid_t process_ = 0;  // that opened it
  ComputingThread computing_;
};

}  // namespace ptrain::api
