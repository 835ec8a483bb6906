#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/threads.h"
#include "core/serve/http.h"

#include <httplib.h>

#include <atomic>
#include <chrono>

namespace ptrain {
namespace {

constexpr const char* json_type = "application/json";
constexpr const char* prometheus_type = "text/plain; version=0.0.4";
constexpr int waiting_connections = 1024;  // backlog of the listening socket
constexpr int idle_seconds = 5;            // timeout of a silent connection, within and between requests

/// A server with a longer backlog than the library's.
class Server final : public httplib::Server {
 public:
  /// Returns the port, or a negative number.
  int bind(const HttpOptions& options) {
    const int port = options.port == 0 ? bind_to_any_port(options.host)
                                       : (bind_to_port(options.host, options.port) ? options.port : -1);
    if (port >= 0) ::listen(svr_sock_, waiting_connections);
    return port;
  }
};

void give(httplib::Response& response, const ServiceAnswer& answer) {
  response.status = answer.status;
  response.set_content(answer.body, json_type);
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

void infer(const ModelService& service, std::size_t max_body, httplib::Response& response,
           const httplib::ContentReader& reader) {
  bool too_large = false;
  const std::optional<std::string> body = read_body(reader, max_body, too_large);
  if (body) return give(response, service.infer(*body));
  const int status = too_large || response.status == 413 ? 413 : 400;
  service.count_refusal(status);
  response.set_header("Connection", "close");  // the rest of the body is no request
  give(response, status == 413 ? error_answer(413, fmt::format("the body is larger than {} bytes", max_body))
                               : error_answer(400, "the body ended early"));
}

void route(Server& server, const ModelService& service, const HttpOptions& options) {
  const auto get = [&](const std::string& path, const std::function<ServiceAnswer()>& answer) {
    server.Get(path, [answer](const httplib::Request&, httplib::Response& response) { give(response, answer()); });
  };
  const auto model = [&service](const httplib::Request& request, httplib::Response& response) {
    if (request.matches[1] == service.name()) return true;
    give(response, error_answer(404, "no such model; this server has " + service.name()));
    return false;
  };
  get("/v2/?", [&service] { return service.server(); });
  get("/v2/health/live", [] { return ServiceAnswer{200, R"({"live":true})"}; });
  get("/v2/health/ready", [] { return ServiceAnswer{200, R"({"ready":true})"}; });
  server.Get("/v2/models/([^/]+)", [=, &service](const httplib::Request& request, httplib::Response& response) {
    if (model(request, response)) give(response, service.model());
  });
  server.Get("/v2/models/([^/]+)/ready", [=](const httplib::Request& request, httplib::Response& response) {
    if (model(request, response)) give(response, {200, R"({"ready":true})"});
  });
  server.Post("/v2/models/([^/]+)/infer", [=, &service](const httplib::Request& request, httplib::Response& response,
                                                        const httplib::ContentReader& reader) {
    if (model(request, response)) infer(service, options.max_body, response, reader);
  });
  server.Get("/metrics", [&service](const httplib::Request&, httplib::Response& response) {
    response.set_content(service.metrics(), prometheus_type);
  });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty())
      give(response, error_answer(response.status,
                                  response.status == 404 ? "no such path" : "not a request this server supports"));
  });
}

}  // namespace

void serve_http(const ModelService& service, const HttpOptions& options,
                const std::function<void(int port)>& listening) {
  const SignalGuard signals;
  Server server;
  route(server, service, options);
  server.set_payload_max_length(options.max_body);
  server.set_keep_alive_max_count(1'000'000);
  server.set_keep_alive_timeout(idle_seconds);
  server.set_read_timeout(idle_seconds);
  server.set_write_timeout(idle_seconds);
  server.set_tcp_nodelay(true);
  server.set_socket_options([](socket_t socket) {  // the library's default lets two servers share a port
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [&options] { return new httplib::ThreadPool(options.threads); };
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
