// The HTTP server under every protocol: it listens, and ends at a signal.
#pragma once

#include "core/serve/connections.h"
#include "core/serve/http.h"

#include <httplib.h>

#include <functional>
#include <string>

namespace ptrain {

/// A server with a longer backlog than the library's, and its own way with connections.
class Server final : public httplib::Server {
 public:
  explicit Server(const HttpOptions& options);

  /// Listens until a signal, then calls `drain` and ends once the requests that have arrived are answered; as
  /// serve_http.
  void serve(const HttpOptions& options, const std::function<void()>& drain,
             const std::function<void(int port)>& listening);

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

  /// Returns the port, or a negative number.
  int bind(const HttpOptions& options);
  bool process_and_close_socket(socket_t socket) override {
    connections_.add(socket);
    return true;
  }

  Connections connections_;
};

/// The request's body, whatever its encoding; nothing if it is larger than `most` or ends early.
std::optional<std::string> read_body(const httplib::ContentReader& reader, std::size_t most, bool& too_large);
/// The same of the parts of a form (multipart/form-data), without their names.
std::optional<std::vector<std::string>> read_parts(const httplib::ContentReader& reader, std::size_t most,
                                                   bool& too_large);

}  // namespace ptrain
