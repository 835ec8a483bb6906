// The prompt of a chat, in the form that a model's vocabulary has marks for.
#pragma once

#include "core/data/text/tokenizer.h"

#include <span>
#include <string>

namespace ptrain {

struct ChatMessage {
  std::string role, content;
};

/// The messages and the beginning of an answer, in ChatML (<|im_start|>, as SmolLM2 and Qwen have it) or in the form of
/// Llama 3 (<|start_header_id|>). No system message is added. Throws Error{usage} where the vocabulary has the marks of
/// neither, or a message has one in its text.
std::string make_chat_prompt(const Tokenizer& tokenizer, std::span<const ChatMessage> messages);

}  // namespace ptrain
