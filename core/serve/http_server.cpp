#include "core/base/signals.h"
#include "core/config/text.h"
#include "core/serve/http_listener.h"

#include <array>
#include <charconv>

namespace ptrain {
namespace {

constexpr const char* json_type = "application/json";
constexpr const char* prometheus_type = "text/plain; version=0.0.4";
constexpr const char* any_path = R"([\s\S]*)";
constexpr const char* json_length = "Inference-Header-Content-Length";  // of the JSON before binary tensors

void give(httplib::Response& response, const ServiceAnswer& answer) {
  response.status = answer.status;
  response.set_content(answer.body, answer.json_bytes ? "application/octet-stream" : json_type);
  if (answer.json_bytes) response.set_header(json_length, std::to_string(*answer.json_bytes));
}

/// The answer to a request whose body was not read to its end.
ServiceAnswer refuse_body(const httplib::Request& request, const httplib::Response& response, std::size_t max_body,
                          bool too_large) {
  const int status = too_large || response.status == 413 ? 413 : response.status == 415 ? 415 : 400;
  if (status == 413) return error_answer(413, fmt::format("the body is larger than {} bytes", max_body));
  const std::string encoding = request.get_header_value("Content-Encoding");
  return error_answer(status, encoding.empty() ? "the body ended early"
                                               : fmt::format("the body ended early, or is not what Content-Encoding "
                                                             "says, {}; gzip and deflate are decoded",
                                                             shown(encoding)));
}

void infer(const ModelService& service, std::size_t max_body, const httplib::Request& request,
           httplib::Response& response, const httplib::ContentReader& reader) {
  bool too_large = false;
  const auto refuse = [&] {
    const ServiceAnswer refusal = refuse_body(request, response, max_body, too_large);
    service.count_refusal(refusal.status);
    give(response, refusal);
  };
  if (request.is_multipart_form_data()) {
    const std::optional<std::vector<std::string>> parts = read_parts(reader, max_body, too_large);
    if (!parts) return refuse();
    return give(response, service.predict(std::vector<std::string_view>(parts->begin(), parts->end())));
  }
  const std::optional<std::string> body = read_body(reader, max_body, too_large);
  if (!body) return refuse();
  if (request.get_header_value("Content-Type").starts_with("image/")) {
    return give(response, service.predict(std::array{std::string_view(*body)}));
  }
  if (!request.has_header(json_length)) return give(response, service.infer(*body));
  const std::string value = request.get_header_value(json_length);
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
  if (error == std::errc() && end == value.data() + value.size() && bytes <= body->size()) {
    return give(response, service.infer(*body, bytes));
  }
  service.count_refusal(400);
  return give(response, error_answer(400, fmt::format("{}: expected a number of bytes up to the body's {}", json_length,
                                                      body->size())));
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
  server.serve(
      options, [&service] { service.drain(); }, listening);
}

}  // namespace ptrain
