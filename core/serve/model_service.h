// The KServe v2 inference protocol ("Open Inference Protocol", KServe's and Triton's) for one model, with Triton's
// extensions of binary tensors and classification: parses request bodies and makes responses. HTTP itself is elsewhere.
#pragma once

#include "core/infer/image_reader.h"
#include "core/runtime/loaded_model.h"
#include "core/runtime/tensors.h"
#include "core/runtime/text_encoder.h"
#include "core/serve/batcher.h"
#include "core/serve/translation_batch.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace ptrain {

struct ServiceAnswer {
  int status = 200;                            // HTTP status
  std::string body;                            // JSON, then the binary data of tensors
  std::optional<std::size_t> json_bytes = {};  // where there is binary data
};

/// {"error": message}.
ServiceAnswer error_answer(int status, const std::string& message);

/// The version of every model.
inline constexpr const char* model_version = "1";

/// Thread-safe.
class ModelService {
 public:
  /// `outputs`: the contents of a row of the outputs; `name`: the model's name in URLs. All other arguments must
  /// outlive it. Throws as TextEncoder does if the vocabulary is damaged.
  ModelService(const LoadedModel& opened, std::vector<TensorSpec> outputs, std::string name, Batcher& batcher,
               std::int64_t most, ServeMetrics& metrics);

  const std::string& name() const { return name_; }
  ServiceAnswer server() const;  // /v2
  ServiceAnswer model() const;   // /v2/models/NAME
  /// /v2/models/NAME/infer; `json_bytes` of the body are JSON, binary data follows (none: all is JSON). Inputs beyond
  /// the largest batch are computed in several. Status 400 with the reason, 503 with a full queue, 500 for a failure of
  /// computing.
  ServiceAnswer infer(std::string_view body, std::optional<std::size_t> json_bytes = std::nullopt) const;
  /// The same for image files, as `ptrain infer` reads them: a prediction for each, with the names of the classes.
  /// Status 400 also for a model whose inputs are no images.
  ServiceAnswer predict(std::span<const std::string_view> images) const;
  std::string metrics() const { return metrics_.text(batcher_.queue_length()); }
  /// The server is shutting down: waiting requests are answered at once.
  void drain() const { batcher_.drain(); }
  void count_refusal(int status) const { metrics_.count_request(status, 0); }

 private:
  /// Computes an answer and counts it; an error becomes its status.
  ServiceAnswer answer(const std::function<ServiceAnswer()>& make) const;
  Batch batch_of_body(const nlohmann::json& request, std::string_view binary) const;
  bool reads_texts() const { return encoder_ || translation_; }
  /// The tensors of numbers that it reads.
  std::vector<ClientTensor> number_inputs() const;
  Batch batch_of_texts(std::span<const std::string> texts) const;
  /// Their inputs, and where images are padded their placements.
  Batch read_images(std::span<const std::string_view> images) const;
  /// The scores of any number of inputs.
  Batch compute(Batch batch) const;
  void require_input_name(const nlohmann::json& input) const;
  ServiceAnswer make_answer(const nlohmann::json& request, const Batch& answers) const;
  void require_outputs(const nlohmann::json& request) const;

  const DatasetInfo& data_;
  const Task& task_;
  std::vector<TensorSpec> outputs_;
  std::string name_;
  std::optional<TextEncoder> encoder_;
  std::optional<TranslationTokens> translation_;  // of a translator, which reads and writes texts alone
  std::optional<ImageReader> images_;
  Batcher& batcher_;
  std::int64_t most_;
  ServeMetrics& metrics_;
};

}  // namespace ptrain
