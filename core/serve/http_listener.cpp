#include "core/serve/http_listener.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

namespace ptrain {
namespace {

constexpr int waiting_connections = 1024;  // backlog of the listening socket
constexpr int idle_seconds = 5;            // timeout of a silent connection, within and between requests

/// Whether a value of Accept-Encoding names the encoding, not with quality 0.
bool accepts(std::string_view value, std::string_view encoding) {
  while (!value.empty()) {
    std::string_view item = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), item.size() + 1));
    item.remove_prefix(std::min(item.size(), item.find_first_not_of(" \t")));
    if (!item.starts_with(encoding)) continue;
    item.remove_prefix(encoding.size());
    const std::size_t quality = item.find("q=");
    if (item.find_first_not_of(" \t;") == item.npos) return true;
    if (item.find_first_of(" \t;") == 0 && (quality == item.npos || std::atof(item.data() + quality + 2) > 0))
      return true;
  }
  return false;
}

/// Leaves gzip where the client decodes it, else no encoding. The library's own choice would be Brotli, which clients
/// offer without having it: their HTTP library adds it to what they decode themselves.
void choose_compression(httplib::Request& request) {
  bool gzip = false;
  const auto [first, last] = request.headers.equal_range("Accept-Encoding");
  for (auto header = first; header != last; ++header) gzip |= accepts(header->second, "gzip");
  request.headers.erase("Accept-Encoding");
  if (gzip) request.headers.emplace("Accept-Encoding", "gzip");
}

}  // namespace

Server::Server(const HttpOptions& options)
    : connections_({options.threads, options.max_body, std::chrono::seconds(idle_seconds)},
                   [this](httplib::Stream& stream, bool close, bool& closed) {
                     return process_request(stream, close, closed, choose_compression);
                   }) {
  new_task_queue = [this] { return new Queue(connections_); };
  set_payload_max_length(options.max_body);
  set_tcp_nodelay(true);
  set_socket_options([](socket_t socket) {  // the library's default lets two servers share a port
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

int Server::bind(const HttpOptions& options) {
  const int port = options.port == 0 ? bind_to_any_port(options.host)
                                     : (bind_to_port(options.host, options.port) ? options.port : -1);
  if (port >= 0) ::listen(svr_sock_, waiting_connections);
  return port;
}

void Server::serve(const HttpOptions& options, const std::function<void()>& drain,
                   const std::function<void(int port)>& listening) {
  const int port = bind(options);
  if (port < 0)
    fail("{}:{}: cannot listen: the port is in use, or the address does not belong to this machine", options.host,
         options.port);
  listening(port);
  std::atomic<bool> ended{false};
  std::thread watcher = start_thread([&] {
    while (SignalGuard::received() == 0 && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (!is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop();
    drain();
  });
  listen_after_bind();
  ended = true;
  watcher.join();
  if (SignalGuard::received() == 0) fail("{}:{}: stopped accepting connections", options.host, port);
}

std::optional<std::string> read_body(const httplib::ContentReader& reader, std::size_t most, bool& too_large) {
  std::string body;
  const bool whole = reader([&](const char* data, std::size_t bytes) {
    too_large = body.size() + bytes > most;
    if (!too_large) body.append(data, bytes);
    return !too_large;
  });
  if (!whole) return std::nullopt;
  return body;
}

std::optional<std::vector<std::string>> read_parts(const httplib::ContentReader& reader, std::size_t most,
                                                   bool& too_large) {
  std::vector<std::string> parts;
  std::size_t size = 0;
  const auto begin = [&](const httplib::MultipartFormData&) {
    parts.emplace_back();
    return true;
  };
  const bool whole = reader(begin, [&](const char* data, std::size_t bytes) {
    size += bytes;
    too_large = size > most;
    if (!too_large) parts.back().append(data, bytes);
    return !too_large;
  });
  if (!whole) return std::nullopt;
  return parts;
}

}  // namespace ptrain
