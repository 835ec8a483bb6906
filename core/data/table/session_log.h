// Reads session logs: tables whose rows are one step of a session each, such as an item that was looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct Session {
  std::int64_t line = 0;           // of its first row, from 1
  std::vector<std::string> items;  // in the order of their times
};

/// Parses CSV with a header; sessions come in the order in which they begin in the file. Columns, by name in any case:
/// session_id, SessionId or session; item_id, ItemId or item; and, where the lines of a session are not in order, time,
/// timestamp or timeframe, which are all numbers, or dates (2014-04-07T10:51:09) or times of day. Throws Error{failed}
/// with `name`:line where a column is missing, a row has another number of fields, a session or item is empty, and when
/// there are no rows.
std::vector<Session> parse_session_log(std::string_view text, const std::string& name);

}  // namespace ptrain
