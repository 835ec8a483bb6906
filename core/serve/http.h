// A ModelService over HTTP, or the stub that says why there is none.
#pragma once

#include "core/serve/model_service.h"

namespace ptrain {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: any that is free
  std::size_t max_body = std::size_t{64} << 20;
  std::size_t threads = 144;  // connections that are answered at once; others wait
};

/// Serves until a signal asks for an end; requests that arrived by then are answered. `listening` is told the port.
/// Throws Error{failed} where the port cannot be had, or without HTTP.
void serve_http(const ModelService& service, const HttpOptions& options,
                const std::function<void(int port)>& listening);

}  // namespace ptrain
