// OpenAI's completions and chat completions for one language model: parses requests, generates texts continuously (a
// text joins those in progress as soon as there is a slot) and makes responses. HTTP itself is elsewhere.
#pragma once

#include "core/infer/generated_text.h"
#include "core/runtime/loaded_model.h"
#include "core/serve/model_service.h"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ptrain {

enum class TextProtocol { completions, chat };

/// One request in progress. Thread-safe.
class Completion {
 public:
  /// Text that was added to one of the request's texts, and with its last what was generated.
  struct Piece {
    std::size_t index = 0;
    std::string text;
    std::optional<Generation> last;
  };

  /// Waits for pieces; none: all texts have ended. Throws Error{failed} if generation failed.
  std::vector<Piece> wait();
  /// The client is gone.
  void cancel();
  bool is_cancelled() const;

  bool streams = false;
  bool counts_usage = false;  // a stream ends with the numbers of tokens
  /// {"id": ..., "object": ..., ...} with these pieces; whole responses have all texts at once.
  std::string make_chunk(const std::vector<Piece>& pieces) const;
  std::string make_response(const std::vector<Piece>& texts) const;
  std::string make_usage_chunk(const std::vector<Piece>& texts) const;

 private:
  friend class TextService;
  nlohmann::ordered_json begin_document(bool chunk) const;

  TextProtocol protocol_ = TextProtocol::completions;
  std::string id_, model_;
  std::int64_t created_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Piece> pieces_;
  std::size_t open_ = 0;  // texts that have not ended
  std::string failure_;
  bool cancelled_ = false;
};

/// {"error": {"message": ..., "type": ...}}.
ServiceAnswer text_error(int status, const std::string& message);

/// Thread-safe.
class TextService {
 public:
  /// `make_decoder` runs in the computing thread, since kernels depend on its number of threads; `queue`: largest
  /// number of waiting texts. All arguments must outlive it. Throws what make_decoder throws, and Error{failed} without
  /// a vocabulary.
  TextService(const LoadedModel& opened, std::string name, std::size_t queue,
              const std::function<std::unique_ptr<TextDecoder>()>& make_decoder);
  /// Finishes the texts first.
  ~TextService();
  TextService(const TextService&) = delete;
  TextService& operator=(const TextService&) = delete;

  const std::string& name() const { return name_; }
  ServiceAnswer models() const;  // /v1/models
  /// Begins to generate. Throws Error{usage} naming what is wrong with the request, QueueFull.
  std::shared_ptr<Completion> begin(TextProtocol protocol, std::string_view body);

 private:
  struct Job {
    std::shared_ptr<Completion> completion;
    std::shared_ptr<GeneratedText> text;
    std::size_t index = 0, sent = 0;  // sent: bytes of its text
  };

  std::vector<std::string> find_prompts(TextProtocol protocol, const nlohmann::json& request) const;
  void work();
  void publish(Job& job);
  void step(GenerationBatch& batch, std::vector<Job>& active);

  const std::string name_;
  const std::int64_t max_length_;
  const std::size_t queue_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  const std::optional<ChatTemplate> chat_template_;  // that the model learnt chats by
  std::unique_ptr<TextDecoder> decoder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::uint64_t requests_ = 0;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace ptrain
