// Chats in lines of JSON, {"messages": [{"role": ..., "content": ...}, ...]}: each is a sample, written by the template
// of data.chat_template, of which the assistant's answers are learnt.
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/config/config_enums.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/data/text/chat_template.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"
#include "core/io/packed_file.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<std::string_view, 3> roles{"system", "user", "assistant"};

struct Line {
  std::int64_t number;
  std::string_view text;
};

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") != line.npos) lines.push_back({number, line});
  }
  return lines;
}

/// Throws BadSample without file and line: of what is wrong with a chat.
std::vector<ChatMessage> parse_chat(std::string_view text) {
  const auto reject = [](const std::string& problem) { throw BadSample(problem); };
  const json chat = parse_json(text);
  if (chat.is_discarded()) reject("not complete JSON");
  if (!chat.is_object() || !chat.contains("messages") || !chat["messages"].is_array()) {
    reject("expected {\"messages\": [{\"role\": ..., \"content\": ...}, ...]}");
  }
  std::vector<ChatMessage> messages;
  bool answered = false;
  for (const json& message : chat["messages"]) {
    const std::size_t index = messages.size();
    const auto string = [&](const char* field) {
      if (!message.is_object() || !message.contains(field) || !message[field].is_string()) {
        reject(fmt::format("messages[{}].{}: expected a string", index, field));
      }
      return message[field].get<std::string>();
    };
    ChatMessage one{string("role"), string("content")};
    if (std::ranges::find(roles, one.role) == roles.end()) {
      reject(
          fmt::format("messages[{}].role: expected system, user or assistant, got {}", index, quoted_name(one.role)));
    }
    if (one.role == "system" && index > 0) reject(fmt::format("messages[{}].role: system is for the first", index));
    answered = answered || one.role == "assistant";
    messages.push_back(std::move(one));
  }
  if (!answered) reject("messages: none is of the role assistant: the chat has no answer to learn");
  return messages;
}

struct Chat {
  std::int64_t line = 0;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> learnt;  // 1 for tokens that are

  bool has_answer() const { return std::ranges::find(learnt, 1) != learnt.end(); }
};

/// In a message, a mark would be the token that begins or ends one.
void require_no_marks(const Tokenizer& tokenizer, const std::vector<ChatMessage>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (const std::string mark = find_mark(tokenizer, messages[i]); !mark.empty()) {
      throw BadSample(fmt::format("messages[{}].content: has the mark {}, which templates alone write", i, mark));
    }
  }
}

void require_marks(const Tokenizer& tokenizer, const DataSettings& settings) {
  for (const std::string_view mark : list_marks(settings.chat_template)) {
    if (has_mark(tokenizer, mark)) continue;
    fail_usage(
        "data.chat_template: {} has the mark {}, which is no token of data.vocab {}; expected the vocabulary of a "
        "model that chats so, or another template",
        enum_name(settings.chat_template), mark, settings.vocab_path);
  }
}

Chat encode_chat(const Tokenizer& tokenizer, ChatTemplate chat_template, const Line& line, std::size_t max_length) {
  Chat chat{line.number, {}, {}};
  const std::vector<ChatMessage> messages = parse_chat(line.text);
  require_no_marks(tokenizer, messages);
  for (const ChatPart& part : apply_template(chat_template, messages)) {
    tokenizer.tokenize(part.text, chat.ids);
    chat.learnt.resize(chat.ids.size(), part.learnt ? 1 : 0);
  }
  chat.ids.resize(std::min(chat.ids.size(), max_length));
  chat.learnt.resize(chat.ids.size());
  return chat;
}

class Chats final : public Dataset {
 public:
  Chats(const DataSettings& settings, Split split) {
    file_ = find_text_file(settings, split, "chat").string();
    const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(settings.vocab_path, TextCase::keep);
    require_marks(*tokenizer, settings);
    info_ = tokens_info(settings.max_length, tokenizer->vocab_size());
    if (split == Split::train) notes_ = tokenizer->notes();
    const std::string text = read_unpacked_file(file_);
    const std::vector<Line> lines = split_lines(text);
    if (lines.empty()) fail("{}: has no chats: expected one a line", file_);
    encode(*tokenizer, settings.chat_template, lines);
    leave_out_unanswered();
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(chats_.size()); }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> tensors = Dataset::tensors(form);
    tensors.push_back({tensor_names::learnt_tokens, DType::i32, Shape{info_.max_length}, 0});
    return tensors;
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const Chat& chat = at(index);
    const auto write = [&](const char* name, const std::vector<std::int32_t>& values) {
      const std::span<std::int32_t> row = out.at<std::int32_t>(name);
      std::ranges::fill(row, 0);
      std::ranges::copy(values, row.begin());
    };
    write(tensor_names::ids, chat.ids);
    write(tensor_names::learnt_tokens, chat.learnt);
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set(tensor_names::lengths, static_cast<std::int32_t>(chat.ids.size()));
  }

  std::int32_t label(std::int64_t) const override { return 0; }
  SampleOrigin origin(std::int64_t index) const override { return {.file = file_, .line = at(index).line}; }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = 0;
    for (const Chat& chat : chats_) {
      for (const std::vector<std::int32_t>* values : {&chat.ids, &chat.learnt}) {
        hash = hash * 31 + fnv1a64({reinterpret_cast<const char*>(values->data()), values->size() * sizeof(int)});
      }
    }
    return hash;
  }

 private:
  void encode(const Tokenizer& tokenizer, ChatTemplate chat_template, const std::vector<Line>& lines) {
    chats_.resize(lines.size());
    std::vector<std::string> problems(lines.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), 16, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        try {
          chats_[i] = encode_chat(tokenizer, chat_template, lines[i], static_cast<std::size_t>(info_.max_length));
        } catch (const BadSample& error) {
          problems[i] = error.what();
        }
      }
    });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!problems[i].empty()) fail("{}:{}: {}", file_, lines[i].number, problems[i]);
    }
  }

  const Chat& at(std::int64_t index) const { return chats_[static_cast<std::size_t>(index)]; }

  /// Of long chats, data.max_length may cut the answers off.
  void leave_out_unanswered() {
    const std::size_t all = chats_.size();
    const std::int64_t first = chats_.front().line;
    std::erase_if(chats_, [](const Chat& chat) { return !chat.has_answer(); });
    if (chats_.empty()) {
      fail("{}:{}: the answer begins after data.max_length, {} tokens, as in all {}: expected longer sequences", file_,
           first, info_.max_length, counted(static_cast<std::int64_t>(all), "chat"));
    }
    if (chats_.size() == all) return;
    notes_.push_back(fmt::format("{}: {} of {} left out, whose answers begin after data.max_length, {} tokens", file_,
                                 all - chats_.size(), counted(static_cast<std::int64_t>(all), "chat"),
                                 info_.max_length));
  }

  std::string file_;
  std::vector<Chat> chats_;
};

}  // namespace

std::unique_ptr<Dataset> open_chat(const DataSettings& settings, Split split) {
  require_path(settings, "chat");
  require_text_vocabulary(settings, "chat");
  return std::make_unique<Chats>(settings, split);
}

}  // namespace ptrain
