#include "core/serve/chat_prompt.h"

#include "core/base/errors.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

constexpr std::array marked_templates{ChatTemplate::chatml, ChatTemplate::llama3};

bool has_mark(const Tokenizer& tokenizer, std::string_view mark) {
  std::vector<std::int32_t> ids;
  tokenizer.tokenize(mark, ids);
  return ids.size() == 1;
}

/// A mark in a text would begin or end a message.
void refuse_marks(const ChatMessage& message) {
  for (const ChatTemplate one : marked_templates) {
    const auto [begin, end] = get_marks(one);
    for (const std::string_view mark : {begin, end}) {
      if ((message.role + message.content).find(mark) != std::string::npos) {
        fail_usage("messages: a text has the mark {}", mark);
      }
    }
  }
}

}  // namespace

std::string make_chat_prompt(const Tokenizer& tokenizer, std::optional<ChatTemplate> learnt,
                             const std::vector<ChatMessage>& messages) {
  const auto* const found = std::ranges::find_if(
      marked_templates, [&](ChatTemplate one) { return has_mark(tokenizer, get_marks(one).begin); });
  if (!learnt && found == marked_templates.end()) {
    fail_usage("messages: the model's vocabulary has no marks of a chat ({} or {}); ask for /v1/completions",
               get_marks(marked_templates[0]).begin, get_marks(marked_templates[1]).begin);
  }
  std::ranges::for_each(messages, refuse_marks);
  return make_prompt(learnt ? *learnt : *found, messages);
}

}  // namespace ptrain
