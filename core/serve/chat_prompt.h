// The prompt of a chat, by the template that a model's vocabulary has marks for.
#pragma once

#include "core/data/text/chat_template.h"
#include "core/data/text/tokenizer.h"

namespace ptrain {

/// make_prompt() by plain ChatML, as SmolLM2 and Qwen have it, or by Llama 3's template. Throws Error{usage} where the
/// vocabulary has the marks of neither, or a message has one in its text.
std::string make_chat_prompt(const Tokenizer& tokenizer, const std::vector<ChatMessage>& messages);

}  // namespace ptrain
