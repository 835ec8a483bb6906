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

}  // namespace ptrain
