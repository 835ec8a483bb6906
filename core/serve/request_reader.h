// Requests of HTTP/1.1 in the bytes that a connection receives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ptrain {

/// A request whose body has a known length: chunks are joined, trailers left out.
struct HttpRequest {
  std::string head;   // request line, headers and the empty line that ends them
  std::string body;   // shorter than the head's Content-Length where the request is not whole
  bool whole = true;  // false: nothing that follows on the connection can be read
};

class RequestReader {
 public:
  /// A longer body is not read: the request then is not whole.
  explicit RequestReader(std::size_t most_body) : most_body_(most_body) {}

  void add(std::string_view bytes);
  /// The next request; none before all of it has been added.
  std::optional<HttpRequest> take();
  /// What there is of a request that will not be whole.
  HttpRequest take_part();
  /// Whether take() would return a request.
  bool ready() const { return part_ == Part::done; }
  /// Whether nothing has been added after the last request.
  bool empty() const { return part_ == Part::head && rest().empty(); }
  /// True once, when a client waits for "100 Continue" before it sends its body.
  bool take_expectation();

 private:
  enum class Part { head, body, chunk_size, chunk, trailers, done };

  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }
  void drop(std::size_t bytes) { at_ += bytes; }
  void advance();
  bool read_head();
  bool read_body();
  bool read_chunk_size();
  bool read_chunk();
  bool read_trailers();
  void parse_head(std::string_view head);
  /// The line at the start of the bytes, without its end, which it drops from them.
  std::optional<std::string> take_line();
  void give_up(std::size_t content_length);
  void finish(std::size_t content_length);

  std::size_t most_body_;
  std::string bytes_;  // received; those from at_ on are not yet part of the request
  std::size_t at_ = 0;
  HttpRequest request_;
  Part part_ = Part::head;
  std::size_t searched_ = 0, wanted_ = 0;  // of the head's end; bytes of the body or chunk still to come
  bool chunked_ = false, expects_ = false, has_length_ = false;
};

}  // namespace ptrain
