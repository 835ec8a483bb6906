#include "core/serve/chat_prompt.h"

#include "core/base/errors.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

constexpr std::array marked_templates{ChatTemplate::chatml, ChatTemplate::llama3};

/// A mark in a text would begin or end a message.
void refuse_marks(const Tokenizer& tokenizer, const ChatMessage& message) {
  if (const std::string mark = find_mark(tokenizer, message); !mark.empty()) {
    fail_usage("messages: a text has the mark {}", mark);
  }
}

}  // namespace

std::string make_chat_prompt(const Tokenizer& tokenizer, std::optional<ChatTemplate> learnt,
                             const std::vector<ChatMessage>& messages) {
  const auto* const found = std::ranges::find_if(
      marked_templates, [&](ChatTemplate one) { return has_mark(tokenizer, list_marks(one).front()); });
  if (!learnt && found == marked_templates.end()) {
    fail_usage("messages: the model's vocabulary has no marks of a chat ({} or {}); ask for /v1/completions",
               list_marks(marked_templates[0]).front(), list_marks(marked_templates[1]).front());
  }
  for (const ChatMessage& message : messages) refuse_marks(tokenizer, message);
  return make_prompt(learnt ? *learnt : *found, messages);
}

}  // namespace ptrain
