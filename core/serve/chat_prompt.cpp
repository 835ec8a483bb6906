#include "core/serve/chat_prompt.h"

#include "core/base/errors.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

/// What is around a role, and after a message.
struct ChatForm {
  const char *before_role, *after_role, *end;
};

constexpr std::array<ChatForm, 2> forms{
    {{"<|im_start|>", "\n", "<|im_end|>\n"}, {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"}}};

bool has_mark(const Tokenizer& tokenizer, std::string_view mark) {
  std::vector<std::int32_t> ids;
  tokenizer.tokenize(mark, ids);
  return ids.size() == 1;
}

}  // namespace

std::string make_chat_prompt(const Tokenizer& tokenizer, std::span<const ChatMessage> messages) {
  const auto form =
      std::ranges::find_if(forms, [&](const ChatForm& one) { return has_mark(tokenizer, one.before_role); });
  if (form == forms.end()) {
    fail_usage(
        "messages: the model's vocabulary has no marks of a chat (<|im_start|> or <|start_header_id|>); ask for "
        "/v1/completions");
  }
  std::string prompt;
  for (const auto& [role, content] : messages) {
    for (const std::string_view mark : {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|eot_id|>"}) {
      if ((role + content).find(mark) != std::string::npos) fail_usage("messages: a text has the mark {}", mark);
    }
    prompt += form->before_role + role + form->after_role + content + form->end;
  }
  return prompt + form->before_role + "assistant" + form->after_role;
}

}  // namespace ptrain
