#include "core/serve/text_service.h"

#include "core/base/errors.h"
#include "core/base/threads.h"
#include "core/base/utf8.h"
#include "core/io/json_text.h"
#include "core/runtime/text_encoder.h"
#include "core/serve/chat_prompt.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <map>

namespace ptrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_texts = 64;  // of a request

std::string print_json(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// A number of the request within bounds; absent or null: `otherwise`.
template <typename T>
T read_number(const json& request, const char* name, T otherwise, T least, T most) {
  const auto found = request.find(name);
  if (found == request.end() || found->is_null()) return otherwise;
  const bool fits = std::is_integral_v<T> ? found->is_number_integer() : found->is_number();
  if (!fits || *found < least || *found > most) {
    fail_usage("{}: expected a number from {} to {}, got {}", name, least, most, found->dump());
  }
  return found->get<T>();
}

bool read_switch(const json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end() || found->is_null()) return false;
  if (!found->is_boolean()) fail_usage("{}: expected true or false", name);
  return found->get<bool>();
}

std::optional<ChatTemplate> find_chat_template(const ModelDocument& document) {
  const auto& name = document.text->chat_template;
  return name ? choice_from_name<ChatTemplate>(*name) : std::nullopt;
}

std::string read_text(const json& value, const char* name) {
  if (!value.is_string()) fail_usage("{}: expected a text", name);
  std::string text = value.get<std::string>();
  if (text.empty() || !is_utf8(text)) fail_usage("{}: expected a text of UTF-8, not an empty one", name);
  return text;
}

/// A text or a list of them; none where it is absent.
std::vector<std::string> read_texts(const json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end() || found->is_null()) return {};
  if (!found->is_array()) return {read_text(*found, name)};
  std::vector<std::string> texts;
  for (const json& one : *found) texts.push_back(read_text(one, name));
  if (texts.size() > most_texts) fail_usage("{}: expected at most {} texts, got {}", name, most_texts, texts.size());
  return texts;
}

ChatMessage read_message(const json& value) {
  if (!value.is_object() || !value.contains("role") || !value.contains("content")) {
    fail_usage("messages: expected objects with role and content");
  }
  const json& content = value.at("content");
  ChatMessage message{read_text(value.at("role"), "role"), {}};
  if (!content.is_array()) {
    message.content = read_text(content, "content");
    return message;
  }
  for (const json& part : content) {
    if (!part.is_object() || part.value("type", "") != "text" || !part.contains("text")) {
      fail_usage("content: expected parts of type text");
    }
    message.content += read_text(part.at("text"), "text");
  }
  return message;
}

/// What is read of a request, and what changes no text.
constexpr std::array<std::string_view, 24> supported_fields{"model",
                                                            "prompt",
                                                            "messages",
                                                            "stream",
                                                            "stream_options",
                                                            "n",
                                                            "best_of",
                                                            "max_tokens",
                                                            "stop",
                                                            "temperature",
                                                            "top_p",
                                                            "min_p",
                                                            "top_k",
                                                            "seed",
                                                            "repetition_penalty",
                                                            "user",
                                                            "metadata",
                                                            "store",
                                                            "request_id",
                                                            "service_tier",
                                                            "prompt_cache_key",
                                                            "safety_identifier",
                                                            "parallel_tool_calls",
                                                            "max_completion_tokens"};

/// Whether the value asks for nothing: null, false, 0, "", [] or {}; logprobs of 0 ask for one.
bool is_neutral(const std::string& name, const json& value) {
  static const std::map<std::string_view, json> neutral{{"response_format", {{"type", "text"}}},
                                                        {"tool_choice", "none"},
                                                        {"function_call", "none"},
                                                        {"length_penalty", 1},
                                                        {"modalities", {"text"}}};
  if (value.is_null() || value == false) return true;
  if (const auto found = neutral.find(name); found != neutral.end() && value == found->second) return true;
  if (value.is_number()) return value == 0 && name != "logprobs";
  return value.is_string() ? value.get_ref<const std::string&>().empty() : value.is_structured() && value.empty();
}

void require_supported(const json& request) {
  for (const auto& [name, value] : request.items()) {
    const bool known = std::ranges::find(supported_fields, name) != supported_fields.end();
    if (!known && !is_neutral(name, value)) fail_usage("{}: is not supported", quoted_name(name));
  }
}

GenerationOptions read_options(const json& request, TextProtocol protocol) {
  for (const char* name : {"n", "best_of"}) {
    if (read_number<std::int64_t>(request, name, 1, 1, 128) != 1) fail_usage("{}: expected 1", name);
  }
  require_supported(request);
  constexpr std::int64_t most_tokens = 1'000'000, completion_tokens = 16;  // the latter is OpenAI's
  const std::int64_t otherwise = protocol == TextProtocol::completions ? completion_tokens : most_tokens;
  GenerationOptions options;
  options.tokens = read_number<std::int64_t>(request, "max_tokens", otherwise, 1, most_tokens);
  options.tokens = read_number<std::int64_t>(request, "max_completion_tokens", options.tokens, 1, most_tokens);
  options.stops = read_texts(request, "stop");
  SamplingOptions& sampling = options.sampling;
  sampling.temperature = static_cast<float>(read_number<double>(request, "temperature", 1, 0, 100));
  sampling.top_p = static_cast<float>(read_number<double>(request, "top_p", 1, 0, 1));
  sampling.min_p = static_cast<float>(read_number<double>(request, "min_p", 0, 0, 1));
  sampling.repetition_penalty = static_cast<float>(read_number<double>(request, "repetition_penalty", 1, 0.01, 100));
  sampling.top_k = static_cast<std::size_t>(read_number<std::int64_t>(request, "top_k", 0, 0, most_tokens));
  sampling.seed = read_number<std::uint64_t>(request, "seed", 1, 0, std::numeric_limits<std::int64_t>::max());
  return options;
}

const char* find_reason(const Generation& generation) {
  return generation.ended || generation.stopped ? "stop" : "length";
}

ordered_json count_usage(const std::vector<Completion::Piece>& texts) {
  std::int64_t read = 0, written = 0;
  for (const Completion::Piece& piece : texts) {
    if (!piece.last) continue;
    read += piece.last->prompt_tokens;
    written += piece.last->tokens;
  }
  return {{"prompt_tokens", read}, {"completion_tokens", written}, {"total_tokens", read + written}};
}

}  // namespace

ServiceAnswer text_error(int status, const std::string& message) {
  const char* type = status < 500 ? "invalid_request_error" : "server_error";
  return {status,
          print_json({{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}})};
}

std::vector<Completion::Piece> Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !pieces_.empty() || open_ == 0 || !failure_.empty(); });
  if (!failure_.empty()) fail("{}", failure_);
  return std::exchange(pieces_, {});
}

void Completion::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
}

bool Completion::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

ordered_json Completion::begin_document(bool chunk) const {
  const bool chat = protocol_ == TextProtocol::chat;
  const char* object = !chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}, {"choices", json::array()}};
}

std::string Completion::make_chunk(const std::vector<Piece>& pieces) const {
  ordered_json document = begin_document(true);
  for (const Piece& piece : pieces) {
    ordered_json choice{{"index", piece.index}};
    if (protocol_ == TextProtocol::chat) {
      choice["delta"] = {{"role", "assistant"}, {"content", piece.text}};
    } else {
      choice["text"] = piece.text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    if (piece.last) choice["finish_reason"] = find_reason(*piece.last);
    document["choices"].push_back(std::move(choice));
  }
  return print_json(document);
}

std::string Completion::make_response(const std::vector<Piece>& texts) const {
  ordered_json document = begin_document(false);
  for (const Piece& piece : texts) {
    ordered_json choice{{"index", piece.index}};
    if (protocol_ == TextProtocol::chat) {
      choice["message"] = {{"role", "assistant"}, {"content", piece.last->text}};
    } else {
      choice["text"] = piece.last->text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = find_reason(*piece.last);
    document["choices"].push_back(std::move(choice));
  }
  document["usage"] = count_usage(texts);
  return print_json(document);
}

std::string Completion::make_usage_chunk(const std::vector<Piece>& texts) const {
  ordered_json document = begin_document(true);
  document["usage"] = count_usage(texts);
  return print_json(document);
}

TextService::TextService(const LoadedModel& opened, std::string name, std::size_t queue,
                         const std::function<std::unique_ptr<TextDecoder>()>& make_decoder)
    : name_(std::move(name)),
      max_length_(opened.trained.data.max_length),
      queue_(queue),
      tokenizer_(open_vocabulary(opened.trained)),
      chat_template_(find_chat_template(opened.trained.document)) {
  std::promise<void> ready;
  worker_ = start_thread([&] {
    try {
      decoder_ = make_decoder();
      ready.set_value();
    } catch (...) {
      ready.set_exception(std::current_exception());
      return;
    }
    work();
  });
  try {
    ready.get_future().get();
  } catch (...) {
    worker_.join();
    throw;
  }
}

TextService::~TextService() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

ServiceAnswer TextService::models() const {
  const ordered_json model{{"id", name_}, {"object", "model"}, {"created", 0}, {"owned_by", "ptrain"}};
  return {200, print_json({{"object", "list"}, {"data", ordered_json::array({model})}})};
}

std::vector<std::string> TextService::find_prompts(TextProtocol protocol, const json& request) const {
  if (protocol == TextProtocol::completions) {
    std::vector<std::string> prompts = read_texts(request, "prompt");
    if (prompts.empty()) fail_usage("prompt: expected a text, or a list of texts");
    return prompts;
  }
  const auto found = request.find("messages");
  if (found == request.end() || !found->is_array() || found->empty()) fail_usage("messages: expected a list");
  std::vector<ChatMessage> messages;
  for (const json& one : *found) messages.push_back(read_message(one));
  return {make_chat_prompt(*tokenizer_, chat_template_, messages)};
}

std::shared_ptr<Completion> TextService::begin(TextProtocol protocol, std::string_view body) {
  const json request = parse_json(body);
  if (!request.is_object()) fail_usage("the body: expected a JSON object of at most {} levels", deepest_json);
  if (request.contains("model") && request.at("model") != name_) fail_usage("model: expected {}", name_);
  const GenerationOptions options = read_options(request, protocol);
  auto completion = std::make_shared<Completion>();
  completion->protocol_ = protocol;
  completion->model_ = name_;
  completion->streams = read_switch(request, "stream");
  if (const auto stream = request.find("stream_options"); stream != request.end() && stream->is_object()) {
    completion->counts_usage = read_switch(*stream, "include_usage");
  }
  completion->created_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::deque<Job> jobs;
  for (const std::string& prompt : find_prompts(protocol, request)) {
    try {
      const auto text = std::make_shared<GeneratedText>(*tokenizer_, prompt, options, max_length_, jobs.size());
      jobs.push_back({completion, text, jobs.size()});
    } catch (const Error& error) {
      fail_usage("{}", error.what());
    }
  }
  completion->open_ = jobs.size();
  const std::lock_guard lock(mutex_);
  if (ending_ || waiting_.size() + jobs.size() > queue_) throw QueueFull("too many texts wait; try again later");
  completion->id_ = fmt::format("{}-{}", protocol == TextProtocol::chat ? "chatcmpl" : "cmpl", ++requests_);
  for (Job& job : jobs) waiting_.push_back(std::move(job));
  changed_.notify_all();
  return completion;
}

void TextService::work() {
  GenerationBatch batch(*decoder_);
  std::vector<Job> active;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !waiting_.empty() || !active.empty(); });
      if (waiting_.empty() && active.empty()) return;
      while (!waiting_.empty() && batch.has_room()) {
        active.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        batch.add(active.back().text);
      }
    }
    step(batch, active);
  }
}

void TextService::step(GenerationBatch& batch, std::vector<Job>& active) {
  std::string failure;
  try {
    batch.step();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  for (Job& job : active) {
    if (failure.empty()) {
      publish(job);
    } else {
      const std::lock_guard lock(job.completion->mutex_);
      job.completion->failure_ = failure;
      job.completion->changed_.notify_all();
    }
  }
  std::erase_if(active, [&](const Job& job) {
    const bool ends = !job.text->is_open() || !failure.empty() || job.completion->is_cancelled();
    if (ends) batch.remove(*job.text);
    return ends;
  });
}

void TextService::publish(Job& job) {
  const Generation& result = job.text->result();
  const std::size_t settled = job.text->settled();
  const bool ends = !job.text->is_open();
  if (settled <= job.sent && !ends) return;
  Completion::Piece piece{
      job.index, result.text.substr(std::min(job.sent, settled), settled - std::min(job.sent, settled)), {}};
  job.sent = settled;
  if (ends) piece.last = result;
  const std::lock_guard lock(job.completion->mutex_);
  job.completion->pieces_.push_back(std::move(piece));
  if (ends) --job.completion->open_;
  job.completion->changed_.notify_all();
}

}  // namespace ptrain
