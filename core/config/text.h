// Text helpers for messages: a user's text in one line, and the nearest known name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// `text` with "\n" for a line end and "\x1b" and the like for other control characters, so that it stays one line.
std::string escape_controls(std::string_view text);
/// `text` in double quotes, control characters escaped, cut after 60 bytes (never inside a character).
std::string shown(std::string_view text);
/// `text` itself, or shown(text) where it has control characters, which would break a line of output.
std::string on_one_line(std::string_view text);
std::string lower_case(std::string_view text);
/// Smallest number of insertions, deletions, replacements and swaps of neighbouring characters between two words.
int edit_distance(std::string_view a, std::string_view b);
/// "a", "a and b" or "a, b and c", where `last` is "and".
std::string join_words(const std::vector<std::string>& names, std::string_view last);
/// Appends "NAME was BEFORE, is NOW" to a list of such changes, separated by semicolons.
void add_change(std::string& list, std::string_view name, std::string_view before, std::string_view now);
/// "; did you mean X?" for the nearest candidate if it is close enough, else "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ptrain
