// The KServe v2 inference protocol ("Open Inference Protocol", KServe's and Triton's) in JSON over one model: what a
// request's body means and what is answered. HTTP itself is elsewhere.
#pragma once

#include "core/runtime/loaded_model.h"
#include "core/runtime/text_encoder.h"
#include "core/serve/batcher.h"

#include <optional>

namespace ptrain {

struct ServiceAnswer {
  int status = 200;  // of HTTP
  std::string body;  // JSON
};

/// {"error": message}.
ServiceAnswer error_answer(int status, const std::string& message);

/// For several threads at once.
class ModelService {
 public:
  /// `outputs`: what a row of the answers holds; `name`: what the model is called in URLs. All others outlive it.
  /// Throws as TextEncoder where the vocabulary is damaged.
  ModelService(const LoadedModel& opened, std::vector<TensorSpec> outputs, std::string name, Batcher& batcher,
               std::int64_t most, ServeMetrics& metrics);

  const std::string& name() const { return name_; }
  ServiceAnswer server() const;  // /v2
  ServiceAnswer model() const;   // /v2/models/NAME
  /// /v2/models/NAME/infer. 400 with what is wrong, 503 where too many wait, 500 where computing failed.
  ServiceAnswer infer(std::string_view body) const;
  std::string metrics() const { return metrics_.text(batcher_.queue_length()); }
  /// The server is ending: what waits is answered at once.
  void drain() const { batcher_.drain(); }
  void count_refusal(int status) const { metrics_.count_request(status, 0); }

 private:
  Batch batch_of_body(const nlohmann::json& request) const;
  ServiceAnswer answered(const nlohmann::json& request, const Batch& answers) const;
  void require_outputs(const nlohmann::json& request) const;

  const DatasetInfo& data_;
  const Task& task_;
  std::vector<TensorSpec> outputs_;
  std::string name_;
  std::optional<TextEncoder> encoder_;
  Batcher& batcher_;
  std::int64_t most_;
  ServeMetrics& metrics_;
};

}  // namespace ptrain
