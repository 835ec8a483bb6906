// The connections of an HTTP server. One thread reads all of them, so that a client that holds back a part of its
// request costs no more than memory; worker threads answer requests that have arrived whole.
#pragma once

#include "core/serve/request_reader.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ptrain {

struct ConnectionLimits {
  std::size_t workers = 1, most_body = 0;
  std::chrono::seconds silence{5};  // within and between requests, and while a client does not read its answer
};

class Connections {
 public:
  /// Answers the request in the stream; `close` says so to the client. Returns false or sets `closed` where the
  /// connection ends with it. Called by several threads.
  using Answer = std::function<bool(httplib::Stream& stream, bool close, bool& closed)>;

  /// Throws Error{failed} if the system refuses what it needs.
  Connections(const ConnectionLimits& limits, Answer answer);
  /// finish()
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Takes over a socket.
  void add(int socket);
  /// Answers the requests that have arrived, closes all connections and ends the threads. None may be added any more.
  void finish();

 private:
  struct Connection;
  using Clock = std::chrono::steady_clock;

  void stop_workers();
  void work();
  void read_all();
  void read_what_has_come();
  void read(Connection& connection);
  void answer(Connection& connection);
  /// Gives the connection to a worker, with a part of a request if that is all there is.
  void hand_over(Connection& connection, bool whole);
  void wait_for_more(Connection& connection);
  /// Says to the client that nothing follows, and reads what it still sends until it has seen that.
  void end(Connection& connection);
  void close(Connection& connection);
  void close_silent();

  ConnectionLimits limits_;
  Answer answer_;
  int events_ = -1, wake_ = -1;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Connection>> open_;  // by socket
  std::atomic<bool> finishing_{false};
  std::condition_variable changed_;
  std::deque<Connection*> ready_;  // for workers
  bool stopped_ = false;
  std::vector<std::thread> workers_;
  std::thread reader_;
};

}  // namespace ptrain
