#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/threads.h"
#include "core/config/text.h"
#include "core/serve/connections.h"
#include "core/serve/http.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>

namespace ptrain {
namespace {

constexpr const char* json_type = "application/json";
constexpr const char* prometheus_type = "text/plain; version=0.0.4";
constexpr int waiting_connections = 1024;  // backlog of the listening socket
constexpr const char* any_path = R"([\s\S]*)";
constexpr const char* json_length = "Inference-Header-Content-Length";  // of the JSON before binary tensors
constexpr int idle_seconds = 5;  // timeout of a silent connection, within and between requests

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

/// A server with a longer backlog than the library's, and its own way with connections.
class Server final : public httplib::Server {
 public:
  explicit Server(const HttpOptions& options)
      : connections_({options.threads, options.max_body, std::chrono::seconds(idle_seconds)},
                     [this](httplib::Stream& stream, bool close, bool& closed) {
                       return process_request(stream, close, closed, choose_compression);
                     }) {
    new_task_queue = [this] { return new Queue(connections_); };
  }

  /// Returns the port, or a negative number.
  int bind(const HttpOptions& options) {
    const int port = options.port == 0 ? bind_to_any_port(options.host)
                                       : (bind_to_port(options.host, options.port) ? options.port : -1);
    if (port >= 0) ::listen(svr_sock_, waiting_connections);
    return port;
  }

 private:
  /// Takes connections in the listening thread.
  class Queue final : public httplib::TaskQueue {
   public:
    explicit Queue(Connections& connections) : connections_(connections) {}
    void enqueue(std::function<void()> add) override { add(); }
    void shutdown() override { connections_.finish(); }

   private:
    Connections& connections_;
  };

  bool process_and_close_socket(socket_t socket) override {
    connections_.add(socket);
    return true;
  }

  Connections connections_;
};

void give(httplib::Response& response, const ServiceAnswer& answer) {
  response.status = answer.status;
  response.set_content(answer.body, answer.json_bytes ? "application/octet-stream" : json_type);
  if (answer.json_bytes) response.set_header(json_length, std::to_string(*answer.json_bytes));
}

/// Reads the body, whatever its encoding; nothing if it is larger than `most` or ends early.
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

void infer(const ModelService& service, std::size_t max_body, const httplib::Request& request,
           httplib::Response& response, const httplib::ContentReader& reader) {
  bool too_large = false;
  const std::optional<std::string> body = read_body(reader, max_body, too_large);
  if (body) {
    if (!request.has_header(json_length)) return give(response, service.infer(*body));
    const std::string value = request.get_header_value(json_length);
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (error == std::errc() && end == value.data() + value.size() && bytes <= body->size()) {
      return give(response, service.infer(*body, bytes));
    }
    service.count_refusal(400);
    return give(response, error_answer(400, fmt::format("{}: expected a number of bytes up to the body's {}",
                                                        json_length, body->size())));
  }
  const int status = too_large || response.status == 413 ? 413 : response.status == 415 ? 415 : 400;
  service.count_refusal(status);
  if (status == 413)
    return give(response, error_answer(413, fmt::format("the body is larger than {} bytes", max_body)));
  const std::string encoding = request.get_header_value("Content-Encoding");
  give(response, error_answer(status, encoding.empty()
                                          ? "the body ended early"
                                          : fmt::format("the body ended early, or is not what Content-Encoding says, "
                                                        "{}; gzip and deflate are decoded",
                                                        shown(encoding))));
}

/// What a path asks for.
struct Route {
  enum class Kind { nothing, server, live, ready, metrics, model, model_ready, infer };
  Kind kind = Kind::nothing;
  std::string model, version;  // as they were before they were escaped

  const char* method() const { return kind == Kind::infer ? "POST" : "GET"; }
};

Route find_route(std::string_view target) {
  std::vector<std::string> parts;
  target = target.substr(0, target.find('?'));
  while (!target.empty()) {
    target.remove_prefix(1);  // the slash
    const std::string_view part = target.substr(0, target.find('/'));
    parts.push_back(httplib::detail::decode_url(std::string(part), false));
    target.remove_prefix(part.size());
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  using enum Route::Kind;
  if (parts == std::vector<std::string>{"metrics"}) return {metrics, {}, {}};
  if (parts.empty() || parts[0] != "v2") return {};
  if (parts.size() == 1) return {server, {}, {}};
  if (parts.size() == 3 && parts[1] == "health") {
    return {parts[2] == "live" ? live : parts[2] == "ready" ? ready : nothing, {}, {}};
  }
  if (parts.size() < 3 || parts[1] != "models") return {};
  Route route{model, parts[2], {}};
  parts.erase(parts.begin(), parts.begin() + 3);
  if (parts.size() >= 2 && parts[0] == "versions") {
    route.version = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (parts.size() == 1) route.kind = parts[0] == "infer" ? infer : parts[0] == "ready" ? model_ready : nothing;
  if (parts.size() > 1) route.kind = nothing;
  return route;
}

/// Answers what no body is needed for; returns false where the request is one for an inference.
bool answer_without_body(const ModelService& service, const Route& route, const std::string& method,
                         httplib::Response& response) {
  using enum Route::Kind;
  if (route.kind != nothing && method != route.method() && !(method == "HEAD" && route.kind != infer)) {
    response.set_header("Allow", route.method());
    give(response, error_answer(405, fmt::format("expected {}", route.method())));
    return true;
  }
  if (!route.model.empty() && route.model != service.name()) {
    give(response, error_answer(404, "no such model; this server has " + service.name()));
    return true;
  }
  if (!route.version.empty() && route.version != model_version) {
    give(response, error_answer(404, fmt::format("no such version; the model has version {} alone", model_version)));
    return true;
  }
  switch (route.kind) {
    case nothing:
      give(response, error_answer(404, "no such path"));
      return true;
    case server:
      give(response, service.server());
      return true;
    case live:
      give(response, {200, R"({"live":true})"});
      return true;
    case ready:
    case model_ready:
      give(response, {200, R"({"ready":true})"});
      return true;
    case metrics:
      response.set_content(service.metrics(), prometheus_type);
      return true;
    case model:
      give(response, service.model());
      return true;
    case infer:
      break;
  }
  return false;
}

void route(Server& server, const ModelService& service, const HttpOptions& options) {
  const auto plain = [&service](const httplib::Request& request, httplib::Response& response) {
    answer_without_body(service, find_route(request.target), request.method, response);
  };
  const auto post = [&service, &options](const httplib::Request& request, httplib::Response& response,
                                         const httplib::ContentReader& reader) {
    if (answer_without_body(service, find_route(request.target), request.method, response)) return;
    infer(service, options.max_body, request, response, reader);
  };
  server.Get(any_path, plain);
  server.Post(any_path, post);
  server.set_error_handler([plain](const httplib::Request& request, httplib::Response& response) {
    // Another method. Its status comes from its path; other errors are the library's.
    if (response.body.empty() && response.status == 404) plain(request, response);
    if (response.body.empty()) give(response, error_answer(response.status, "not a request this server supports"));
    // Clients that decode answers do not all decode errors.
    const_cast<httplib::Request&>(request).headers.erase("Accept-Encoding");
  });
}

}  // namespace

void serve_http(const ModelService& service, const HttpOptions& options,
                const std::function<void(int port)>& listening) {
  const SignalGuard signals;
  Server server(options);
  route(server, service, options);
  server.set_payload_max_length(options.max_body);
  server.set_tcp_nodelay(true);
  server.set_socket_options([](socket_t socket) {  // the library's default lets two servers share a port
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  const int port = server.bind(options);
  if (port < 0)
    fail("{}:{}: cannot listen: the port is in use, or the address does not belong to this machine", options.host,
         options.port);
  listening(port);
  std::atomic<bool> ended{false};
  std::thread watcher = start_thread([&] {
    while (SignalGuard::received() == 0 && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (!server.is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server.stop();
    service.drain();
  });
  server.listen_after_bind();
  ended = true;
  watcher.join();
  if (SignalGuard::received() == 0) fail("{}:{}: stopped accepting connections", options.host, port);
}

}  // namespace ptrain
