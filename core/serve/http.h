// Serves a ModelService, a TextService or a RunSite over HTTP; without an HTTP library a stub that fails with the
// reason.
#pragma once

#include "core/analysis/live/run_site.h"
#include "core/serve/model_service.h"
#include "core/serve/text_service.h"

namespace ptrain {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: any free port
  std::size_t max_body = std::size_t{64} << 20;
  std::size_t threads = 144;  // connections served at once; others wait
};

/// Serves until a signal, then answers the requests that have arrived. `listening` is called with the port. Throws
/// Error{failed} if the port is unavailable, or without HTTP.
void serve_http(const ModelService& service, const HttpOptions& options,
                const std::function<void(int port)>& listening);
/// The same for a language model.
void serve_texts(TextService& service, const HttpOptions& options, const std::function<void(int port)>& listening);
/// The same for the pages of runs, which need neither large bodies nor many threads: of `options` host and port count.
void serve_runs(RunSite& site, HttpOptions options, const std::function<void(int port)>& listening);

}  // namespace ptrain
