#include "core/data/table/session_log.h"

#include "core/base/errors.h"
#include "core/data/text/row_reader.h"
#include "core/data/text/table_columns.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>
#include <variant>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 3> session_names{"session_id", "sessionid", "session"};
constexpr std::array<std::string_view, 3> item_names{"item_id", "itemid", "item"};
constexpr std::array<std::string_view, 3> time_names{"time", "timestamp", "timeframe"};

std::string to_lower(std::string_view text) {
  std::string lower(trim_blanks(text));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::ranges::find(names, to_lower(header[i])) != names.end()) return i;
  }
  return std::nullopt;
}

std::size_t require_column(const std::vector<std::string>& header, std::span<const std::string_view> names,
                           const std::string& name) {
  if (const auto column = find_column(header, names)) return *column;
  fail("{}:1: expected a header with a column {}, got {}", name, fmt::join(names, ", "), quoted_list(header));
}

/// A number, or a date that its text orders.
using Time = std::variant<double, std::string>;

/// Whether the text begins as `pattern` has it: 0 is any digit, - a separator of dates, and all else itself.
bool begins_as(std::string_view text, std::string_view pattern) {
  const auto fits = [](char c, char wanted) {
    if (wanted == '0') return c >= '0' && c <= '9';
    return wanted == '-' ? c == '-' || c == '/' || c == '.' : c == wanted;
  };
  return text.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), text.begin(), [&](char wanted, char c) { return fits(c, wanted); });
}

/// `place` is of the field, for errors.
Time parse_time(std::string text, const std::string& place) {
  if (begins_as(text, "0000-00-00") || begins_as(text, "00:00")) return text;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) return number;
  fail("{}: expected a number, a date as 2014-04-07T10:51:09 or a time as 10:51:09, got {}", place, quoted_name(text));
}

struct Step {
  std::string item;
  Time time;
};

bool is_earlier(const Step& one, const Step& other) { return one.time < other.time; }

std::vector<std::string> in_order(std::vector<Step> steps) {
  std::ranges::stable_sort(steps, is_earlier);
  std::vector<std::string> items;
  items.reserve(steps.size());
  for (Step& step : steps) items.push_back(std::move(step.item));
  return items;
}

}  // namespace

std::vector<Session> parse_session_log(std::string_view text, const std::string& name) {
  RowReader reader(text, name, {find_separator(text, name), Quoting::rfc4180});
  std::vector<std::string> header, fields;
  if (!reader.next(header)) fail("{}: is empty: expected a header and a row for each step of a session", name);
  const std::size_t session_column = require_column(header, session_names, name);
  const std::size_t item_column = require_column(header, item_names, name);
  const std::optional<std::size_t> time_column = find_column(header, time_names);
  std::unordered_map<std::string, std::size_t> numbers;
  std::vector<Session> sessions;
  std::vector<std::vector<Step>> steps;
  std::optional<Time> first_time;
  while (reader.next(fields)) {
    if (fields.size() != header.size()) {
      fail("{}:{}: expected {} fields, as in the header, got {}", name, reader.line(), header.size(), fields.size());
    }
    if (fields == header) {
      fail("{}:{}: repeats the header, as where files were joined: remove the line", name, reader.line());
    }
    const auto require = [&](std::size_t column) {
      std::string value(trim_blanks(fields[column]));
      if (value.empty()) fail("{}:{}: {}: is empty", name, reader.line(), header[column]);
      return value;
    };
    const auto read_time = [&](std::size_t column) {
      const std::string place = fmt::format("{}:{}: {}", name, reader.line(), header[column]);
      Time time = parse_time(require(column), place);
      if (!first_time) first_time = time;
      if (time.index() != first_time->index()) fail("{}: expected only numbers or only dates in this column", place);
      return time;
    };
    const auto [found, is_new] = numbers.try_emplace(require(session_column), sessions.size());
    if (is_new) {
      sessions.push_back({reader.line(), {}});
      steps.emplace_back();
    }
    steps[found->second].push_back({require(item_column), time_column ? read_time(*time_column) : Time()});
  }
  if (sessions.empty()) fail("{}: has no rows below its header", name);
  for (std::size_t i = 0; i < sessions.size(); ++i) sessions[i].items = in_order(std::move(steps[i]));
  return sessions;
}

}  // namespace ptrain
