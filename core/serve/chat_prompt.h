// The prompt of a chat, by the template that the model learnt chats by, or that its vocabulary has marks for.
#pragma once

#include "core/data/text/chat_template.h"
#include "core/data/text/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// make_prompt() by the template that was `learnt`; without one by plain ChatML, as SmolLM2 and Qwen have it, or by
/// Llama 3's. Throws Error{usage} where the vocabulary has the marks of neither, or a message has one in its text.
std::string make_chat_prompt(const Tokenizer& tokenizer, std::optional<ChatTemplate> learnt,
                             const std::vector<ChatMessage>& messages);

}  // namespace ptrain
