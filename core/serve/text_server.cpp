#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/config/text.h"
#include "core/serve/http_listener.h"
#include "core/serve/text_service.h"

namespace ptrain {
namespace {

constexpr const char* json_type = "application/json";
constexpr const char* event_type = "text/event-stream";

void give(httplib::Response& response, const ServiceAnswer& answer) {
  response.status = answer.status;
  response.set_content(answer.body, json_type);
}

bool write_event(httplib::DataSink& sink, const std::string& data) {
  const std::string event = "data: " + data + "\n\n";
  return sink.write(event.data(), event.size());
}

/// Server-sent events: one for each piece of text, and [DONE].
void stream(const std::shared_ptr<Completion>& completion, httplib::Response& response) {
  const auto ended = std::make_shared<std::vector<Completion::Piece>>();
  const auto write = [completion, ended](std::size_t, httplib::DataSink& sink) {
    try {
      const std::vector<Completion::Piece> pieces = completion->wait();
      for (const Completion::Piece& piece : pieces) {
        if (!write_event(sink, completion->make_chunk({piece}))) return false;
        if (piece.last) ended->push_back(piece);
      }
      if (!pieces.empty()) return true;
      if (completion->counts_usage && !write_event(sink, completion->make_usage_chunk(*ended))) return false;
      if (!write_event(sink, "[DONE]")) return false;
    } catch (const Error& error) {  // the status has been sent
      if (!write_event(sink, text_error(500, error.what()).body)) return false;
    }
    sink.done();
    return true;
  };
  response.set_chunked_content_provider(event_type, write, [completion](bool) { completion->cancel(); });
}

void answer(Completion& completion, httplib::Response& response) {
  std::map<std::size_t, Completion::Piece> ended;
  for (;;) {
    const std::vector<Completion::Piece> pieces = completion.wait();
    if (pieces.empty()) break;
    for (const Completion::Piece& piece : pieces) {
      if (piece.last) ended[piece.index] = piece;
    }
  }
  std::vector<Completion::Piece> texts;
  for (auto& [index, piece] : ended) texts.push_back(std::move(piece));
  response.set_content(completion.make_response(texts), json_type);
}

void complete(TextService& service, TextProtocol protocol, std::size_t max_body, const httplib::Request& request,
              httplib::Response& response, const httplib::ContentReader& reader) {
  bool too_large = false;
  const std::optional<std::string> body = read_body(reader, max_body, too_large);
  if (too_large) return give(response, text_error(413, fmt::format("the body is larger than {} bytes", max_body)));
  if (!body) return give(response, text_error(400, "the body ended early"));
  try {
    const std::shared_ptr<Completion> completion = service.begin(protocol, *body);
    if (!completion->streams) return answer(*completion, response);
    // Compression would hold back what is to be seen at once.
    const_cast<httplib::Request&>(request).headers.erase("Accept-Encoding");
    stream(completion, response);
  } catch (const QueueFull& error) {
    give(response, text_error(503, error.what()));
  } catch (const Error& error) {
    give(response, text_error(error.code() == ExitCode::usage ? 400 : 500, error.what()));
  } catch (const std::exception& error) {
    give(response, text_error(500, error.what()));
  }
}

}  // namespace

void serve_texts(TextService& service, const HttpOptions& options, const std::function<void(int port)>& listening) {
  const SignalGuard signals;
  Server server(options);
  const auto post = [&](const char* path, TextProtocol protocol) {
    server.Post(path, [&service, &options, protocol](const httplib::Request& request, httplib::Response& response,
                                                     const httplib::ContentReader& reader) {
      complete(service, protocol, options.max_body, request, response, reader);
    });
  };
  post("/v1/completions", TextProtocol::completions);
  post("/v1/chat/completions", TextProtocol::chat);
  server.Get("/v1/models",
             [&](const httplib::Request&, httplib::Response& response) { give(response, service.models()); });
  server.Get("/health", [](const httplib::Request&, httplib::Response& response) { give(response, {200, "{}"}); });
  server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (response.body.empty()) {
      give(response, text_error(response.status, response.status == 404
                                                     ? "no such path; there are /v1/models, /v1/completions and "
                                                       "/v1/chat/completions"
                                                     : "not a request this server supports"));
    }
    const_cast<httplib::Request&>(request).headers.erase("Accept-Encoding");  // as for other errors
  });
  server.serve(
      options, [] {}, listening);
}

}  // namespace ptrain
