// Pages of a folder of runs over HTTP. A page of runs that train has a stream of server-sent events, each the page's
// content when it has changed.
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/url.h"
#include "core/io/atomic_file.h"
#include "core/serve/http_listener.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace ptrain {
namespace {

constexpr const char* html_type = "text/html; charset=utf-8";
constexpr const char* script_type = "text/javascript; charset=utf-8";
constexpr const char* event_type = "text/event-stream";
constexpr const char* any_path = R"(/[\s\S]*)";
constexpr const char* script_name = "live.js";
constexpr int most_streams = 64;  // of pages open at once; each has a thread
constexpr std::chrono::milliseconds look_interval{1000};
constexpr int looks_until_sign = 5;  // of life, so that a client that has left is noticed

/// Pages load nothing from elsewhere, and what is in them cannot run.
constexpr const char* policy =
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Replaces the parts of the page that differ from what the server sends.
constexpr const char* script = R"js("use strict";
const main = document.querySelector("main");
function show(content) {
  const next = document.createElement("template");
  next.innerHTML = content;
  const parts = [...next.content.children];
  if (parts.length !== main.children.length) return main.replaceChildren(...parts);
  parts.forEach((part, i) => { if (!part.isEqualNode(main.children[i])) main.children[i].replaceWith(part); });
}
function follow() {
  const events = new EventSource("events");
  events.onmessage = event => show(JSON.parse(event.data));
  events.addEventListener("end", () => events.close());
  events.onerror = () => { if (events.readyState === EventSource.CLOSED) setTimeout(follow, 5000); };
}
follow();
)js";

/// What a path asks for: the folder it names, and the file there.
struct Target {
  RunSite::Place place;
  std::string file;
};

Target find_target(std::string_view target) {
  Target found;
  target = target.substr(0, target.find('?'));
  while (!target.empty()) {
    target.remove_prefix(1);  // the slash
    const std::string_view part = target.substr(0, target.find('/'));
    found.place.push_back(httplib::detail::decode_url(std::string(part), false));
    target.remove_prefix(part.size());
  }
  if (found.place.empty()) return found;
  found.file = std::move(found.place.back());
  found.place.pop_back();
  return found;
}

/// Open streams, which end together.
class Streams {
 public:
  /// Null: too many are open.
  std::shared_ptr<void> open() {
    if (++count_ > most_streams) {
      --count_;
      return nullptr;
    }
    return {this, [this](void*) { --count_; }};
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, look_interval, [this] { return ended_; });
  }

 private:
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

bool write(httplib::DataSink& sink, std::string_view text) { return sink.write(text.data(), text.size()); }

class RunServer {
 public:
  explicit RunServer(RunSite& site) : site_(site) {}

  void answer(const httplib::Request& request, httplib::Response& response) {
    response.set_header("Content-Security-Policy", policy);
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cache-Control", "no-store");
    const auto [place, file] = find_target(request.target);
    if (place.empty() && file == script_name) return response.set_content(script, script_type);
    if (file.empty() || file == "index.html") return give_page(place, response);
    if (file == "events") return give_events(place, request, response);
    if (const auto found = site_.find_file(place, file)) return give_file(*found, response);
    redirect_or_refuse(place, file, response);
  }
  void end_streams() { streams_.end(); }

 private:
  void give_page(const RunSite::Place& place, httplib::Response& response) {
    const std::optional<RunSite::Page> page = site_.make_page(place);
    if (!page) return refuse(response, 404, "no run is there");
    std::string way_up;
    for (std::size_t i = 0; i < place.size(); ++i) way_up += "../";
    response.set_content(page->document(page->changes ? way_up + script_name : ""), html_type);
  }

  void give_file(const std::filesystem::path& file, httplib::Response& response) {
    try {
      response.set_content(read_file(file), file.extension() == ".json" ? "application/json" : "application/jsonl");
    } catch (const Error& error) {
      refuse(response, 404, error.what());
    }
  }

  /// A folder's name without a slash after it: links on its page would be of the folder above.
  void redirect_or_refuse(RunSite::Place place, const std::string& file, httplib::Response& response) {
    place.push_back(file);
    if (!site_.make_page(place)) return refuse(response, 404, "no run is there");
    std::string path;
    for (const std::string& name : place) path.append("/").append(encode_url(name));
    response.set_redirect(path + "/", 301);
  }

  void give_events(const RunSite::Place& place, const httplib::Request& request, httplib::Response& response) {
    if (!site_.make_page(place)) return refuse(response, 404, "no run is there");
    const std::shared_ptr<void> opened = streams_.open();
    if (opened == nullptr) {
      return refuse(response, 503, fmt::format("{} pages are followed already; the page stays as it is", most_streams));
    }
    // Compression would hold back what is to be seen at once.
    const_cast<httplib::Request&>(request).headers.erase("Accept-Encoding");
    response.set_chunked_content_provider(
        event_type, [this, place, opened, sent = Sent()](std::size_t, httplib::DataSink& sink) mutable {
          return send_next(place, sent, sink);
        });
  }

  struct Sent {
    std::optional<std::uint64_t> version;
    int looks = 0;  // since something was sent
  };

  /// Sends the page if it has changed, else waits a moment; returns false once the client has left, and where the page
  /// cannot be made: the client then asks again.
  bool send_next(const RunSite::Place& place, Sent& sent, httplib::DataSink& sink) {
    try {
      return send_change(place, sent, sink);
    } catch (const std::exception&) {
      return false;
    }
  }

  bool send_change(const RunSite::Place& place, Sent& sent, httplib::DataSink& sink) {
    if (sent.version) streams_.wait();
    if (streams_.ended()) return end(sink, "");
    const std::uint64_t version = site_.version(place);
    if (sent.version == version) {
      if (++sent.looks < looks_until_sign) return true;
      sent.looks = 0;
      return write(sink, ":\n\n");
    }
    sent = {version, 0};
    const std::optional<RunSite::Page> page = site_.make_page(place);
    const std::string content = page ? page->content : "<p>This run is no longer there.</p>\n";
    const std::string data = nlohmann::json(content).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (!write(sink, fmt::format("data: {}\n\n", data))) return false;
    return page && page->changes ? true : end(sink, "event: end\ndata:\n\n");
  }

  static bool end(httplib::DataSink& sink, std::string_view last) {
    if (!last.empty() && !write(sink, last)) return false;
    sink.done();
    return true;
  }

  RunSite& site_;
  Streams streams_;
};

}  // namespace

void serve_runs(RunSite& site, HttpOptions options, const std::function<void(int port)>& listening) {
  constexpr std::size_t others = 16;  // requests than those for streams
  const SignalGuard signals;
  options.threads = most_streams + others;
  options.max_body = 1 << 16;
  RunServer pages(site);
  Server server(options);
  server.Get(any_path,
             [&](const httplib::Request& request, httplib::Response& response) { pages.answer(request, response); });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) refuse(response, response.status, "not a request this server supports; expected GET");
  });
  server.serve(
      options, [&] { pages.end_streams(); }, listening);
}

}  // namespace ptrain
