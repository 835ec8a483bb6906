// How a chat becomes one text: the markers around each message, as the published templates of model families put them.
#pragma once

#include "core/config/config_enums.h"
#include "core/data/text/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

/// A part of a chat's text; the model learns those that it is to write itself, answers and their ends.
struct ChatPart {
  std::string text;
  bool learnt = false;
};

/// The parts of a chat, in order. Templates with a system message of their own put it before chats that have none.
std::vector<ChatPart> apply_template(ChatTemplate chat_template, const std::vector<ChatMessage>& messages);

/// The chat's text up to where the model is to write an answer.
std::string make_prompt(ChatTemplate chat_template, const std::vector<ChatMessage>& messages);

/// The marks of a template, each one token of a vocabulary that chats can be read with: that before a message, those
/// after its role and its content, and that before a chat.
std::vector<std::string_view> list_marks(ChatTemplate chat_template);

/// Whether `mark` is one token.
bool has_mark(const Tokenizer& tokenizer, std::string_view mark);

/// A mark of any template, or the end of texts, in a message that `tokenizer` would read as one; empty: there is none.
std::string find_mark(const Tokenizer& tokenizer, const ChatMessage& message);

}  // namespace ptrain
