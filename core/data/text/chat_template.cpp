#include "core/data/text/chat_template.h"

#include <array>

namespace ptrain {
namespace {

struct Markers {
  std::string_view begin;  // of the chat
  std::string_view before_role, after_role;
  std::string_view end;     // of a message; the model writes it after an answer
  std::string_view after;   // between messages
  std::string_view system;  // the system message of chats that have none; empty: none
  bool trims;               // white space around a message's content
};

constexpr std::string_view im_start = "<|im_start|>", im_end = "<|im_end|>";

/// By ChatTemplate: plain ChatML, and the templates in tokenizer_config.json of SmolLM2, Qwen2.5 and Llama 3.
constexpr std::array<Markers, 4> all_markers{{
    {"", im_start, "\n", im_end, "\n", "", false},
    {"", im_start, "\n", im_end, "\n", "You are a helpful AI assistant named SmolLM, trained by Hugging Face", false},
    {"", im_start, "\n", im_end, "\n", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", false},
    {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "", "", true},
}};

const Markers& get_markers(ChatTemplate chat_template) { return all_markers[static_cast<std::size_t>(chat_template)]; }

std::string trimmed(const std::string& text) {
  constexpr std::string_view white = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(white);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

}  // namespace

std::vector<ChatPart> apply_template(ChatTemplate chat_template, const std::vector<ChatMessage>& messages) {
  const Markers& markers = get_markers(chat_template);
  std::vector<ChatPart> parts;
  std::string before(markers.begin);  // what precedes the next content
  const auto add = [&](const std::string& role, const std::string& content) {
    before.append(markers.before_role).append(role).append(markers.after_role);
    const bool learnt = role == "assistant";
    parts.push_back({std::move(before), false});
    parts.push_back({content + std::string(markers.end), learnt});
    before = markers.after;
  };
  const bool has_system = !messages.empty() && messages.front().role == "system";
  if (!markers.system.empty() && !has_system) add("system", std::string(markers.system));
  for (const ChatMessage& message : messages) {
    add(message.role, markers.trims ? trimmed(message.content) : message.content);
  }
  if (!before.empty()) parts.push_back({std::move(before), false});
  return parts;
}

std::string make_prompt(ChatTemplate chat_template, const std::vector<ChatMessage>& messages) {
  const Markers& markers = get_markers(chat_template);
  std::string prompt;
  for (const ChatPart& part : apply_template(chat_template, messages)) prompt += part.text;
  return prompt.append(markers.before_role).append("assistant").append(markers.after_role);
}

std::vector<std::string_view> list_marks(ChatTemplate chat_template) {
  const Markers& markers = get_markers(chat_template);
  std::vector<std::string_view> marks;
  for (std::string_view mark : {markers.before_role, markers.after_role, markers.end, markers.begin}) {
    mark = mark.substr(0, mark.find('\n'));
    if (!mark.empty()) marks.push_back(mark);
  }
  return marks;
}

bool has_mark(const Tokenizer& tokenizer, std::string_view mark) {
  std::vector<std::int32_t> ids;
  tokenizer.tokenize(mark, ids);
  return ids.size() == 1 && ids.front() != tokenizer.unknown_id();
}

std::string find_mark(const Tokenizer& tokenizer, const ChatMessage& message) {
  const std::int32_t end = tokenizer.end_id();
  std::vector<std::string> marks{tokenizer.decode({&end, 1})};
  for (const ChatTemplate one : {ChatTemplate::chatml, ChatTemplate::llama3}) {
    for (const std::string_view mark : list_marks(one)) marks.emplace_back(mark);
  }
  for (const std::string& mark : marks) {
    const bool is_there =
        message.content.find(mark) != std::string::npos || message.role.find(mark) != std::string::npos;
    if (!mark.empty() && is_there && has_mark(tokenizer, mark)) return mark;
  }
  return {};
}

}  // namespace ptrain
