// How a chat becomes one text: the markers around each message, as the published templates of model families put them.
#pragma once

#include "core/config/config_enums.h"

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

/// What begins a message, and what ends one.
struct ChatMarks {
  std::string_view begin, end;
};
ChatMarks get_marks(ChatTemplate chat_template);

}  // namespace ptrain
