#include "core/serve/request_reader.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace ptrain {
namespace {

constexpr std::size_t most_head = std::size_t{64} << 10, most_line = 8192;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

bool is_same(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::strncasecmp(one.data(), other.data(), one.size()) == 0;
}

/// The largest number for those beyond it: more than any limit.
std::optional<std::size_t> parse_size(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  return error == std::errc::result_out_of_range ? std::numeric_limits<std::size_t>::max() : value;
}

/// The request line with its target as a path, where it is a whole URI as in requests to a proxy (RFC 9112, 3.2.2).
std::string in_origin_form(std::string_view line) {
  const std::size_t begin = std::min(line.find(' '), line.size() - 1) + 1;
  const std::string_view target = line.substr(begin, line.find(' ', begin) - begin);
  const std::size_t scheme = target.find("://");
  if (scheme == target.npos ||
      !(is_same(target.substr(0, scheme), "http") || is_same(target.substr(0, scheme), "https")))
    return std::string(line);
  const std::size_t path = std::min(target.find_first_of("/?", scheme + 3), target.size());
  const bool rooted = path < target.size() && target[path] == '/';
  return fmt::format("{}{}{}", line.substr(0, begin), rooted ? "" : "/", line.substr(begin + path));
}

}  // namespace

void RequestReader::add(std::string_view bytes) {
  bytes_.erase(0, at_);
  at_ = 0;
  bytes_ += bytes;
  advance();
}

std::optional<HttpRequest> RequestReader::take() {
  if (part_ != Part::done) return std::nullopt;
  HttpRequest request = std::move(request_);
  request_ = {};
  part_ = Part::head;
  searched_ = 0;
  advance();
  return request;
}

HttpRequest RequestReader::take_part() {
  if (part_ == Part::head) {
    request_.head = rest();
    request_.whole = false;
  } else if (part_ != Part::done) {
    give_up(request_.body.size() + std::max<std::size_t>(1, wanted_));
  }
  drop(rest().size());
  part_ = Part::head;
  return std::exchange(request_, {});
}

bool RequestReader::take_expectation() { return part_ != Part::head && std::exchange(expects_, false); }

void RequestReader::advance() {
  for (bool more = true; more;) {
    switch (part_) {
      case Part::head:
        more = read_head();
        break;
      case Part::body:
        more = read_body();
        break;
      case Part::chunk_size:
        more = read_chunk_size();
        break;
      case Part::chunk:
        more = read_chunk();
        break;
      case Part::trailers:
        more = read_trailers();
        break;
      case Part::done:
        more = false;
        break;
    }
  }
}

bool RequestReader::read_head() {
  constexpr std::string_view end = "\r\n\r\n";
  if (searched_ == 0) drop(std::min(rest().find_first_not_of("\r\n"), rest().size()));  // empty lines before a request
  const std::size_t at = rest().find(end, searched_);
  if (at == rest().npos) {
    searched_ = rest().size() < end.size() ? 0 : rest().size() - (end.size() - 1);
    if (rest().size() <= most_head) return false;
    request_.head = rest();  // the HTTP library says what is wrong
    request_.whole = false;
    part_ = Part::done;
    return true;
  }
  const std::string_view head = rest().substr(0, at + 2);
  drop(at + end.size());
  parse_head(head);
  return true;
}

void RequestReader::parse_head(std::string_view head) {
  chunked_ = expects_ = has_length_ = false;
  std::size_t length = 0;
  bool valid = true;
  for (bool first = true; !head.empty(); first = false) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (first) {
      request_.head = in_origin_form(line) + "\r\n";
      continue;
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon), value = colon == line.npos ? "" : trim(line.substr(colon + 1));
    if (colon != line.npos && is_same(name, "Content-Length")) {
      const std::optional<std::size_t> said = parse_size(value, 10);
      valid &= said.has_value() && (!has_length_ || *said == length);
      length = said.value_or(0);
      has_length_ = true;
    } else if (colon != line.npos && is_same(name, "Transfer-Encoding")) {
      chunked_ = true;
      valid &= is_same(value, "chunked");
    } else if (colon != line.npos && is_same(name, "Expect")) {
      expects_ = is_same(value, "100-continue");
    } else {
      request_.head.append(line) += "\r\n";
    }
  }
  if (!valid) return give_up(1);
  if (chunked_) {
    part_ = Part::chunk_size;
  } else if (length > most_body_) {
    give_up(length);
  } else {
    wanted_ = length;
    part_ = Part::body;
  }
}

bool RequestReader::read_body() {
  const std::size_t taken = std::min(wanted_, rest().size());
  request_.body += rest().substr(0, taken);
  drop(taken);
  wanted_ -= taken;
  if (wanted_ > 0) return false;
  finish(request_.body.size());
  return true;
}

std::optional<std::string> RequestReader::take_line() {
  const std::size_t end = rest().find("\r\n");
  if (end == rest().npos) {
    if (rest().size() > most_line) give_up(request_.body.size() + 1);
    return std::nullopt;
  }
  std::string line(rest().substr(0, end));
  drop(end + 2);
  return line;
}

bool RequestReader::read_chunk_size() {
  const std::optional<std::string> line = take_line();
  if (!line) return part_ == Part::done;
  const std::optional<std::size_t> size = parse_size(trim(std::string_view(*line).substr(0, line->find(';'))), 16);
  if (!size) {
    give_up(request_.body.size() + 1);
  } else if (*size > most_body_ - request_.body.size()) {
    give_up(most_body_ + 1);
  } else {
    wanted_ = *size + (*size > 0 ? 2 : 0);  // the chunk and its line end
    part_ = *size > 0 ? Part::chunk : Part::trailers;
  }
  return true;
}

bool RequestReader::read_chunk() {
  if (rest().size() < wanted_) return false;
  if (rest().substr(wanted_ - 2, 2) != "\r\n") {
    give_up(request_.body.size() + 1);
    return true;
  }
  request_.body += rest().substr(0, wanted_ - 2);
  drop(wanted_);
  wanted_ = 0;
  part_ = Part::chunk_size;
  return true;
}

bool RequestReader::read_trailers() {
  const std::optional<std::string> line = take_line();
  if (!line) return part_ == Part::done;
  if (line->empty()) finish(request_.body.size());
  return true;
}

void RequestReader::give_up(std::size_t content_length) {
  request_.whole = false;
  has_length_ = true;
  drop(rest().size());
  finish(content_length);
}

void RequestReader::finish(std::size_t content_length) {
  if (has_length_ || chunked_) request_.head += fmt::format("Content-Length: {}\r\n", content_length);
  request_.head += "\r\n";
  part_ = Part::done;
}

}  // namespace ptrain
