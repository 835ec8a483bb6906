#include "core/serve/connections.h"

#include "core/base/errors.h"
#include "core/base/threads.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ptrain {
namespace {

/// Reads a request from memory and writes its answer to a socket.
class RequestStream final : public httplib::Stream {
 public:
  RequestStream(int socket, const HttpRequest& request, std::chrono::milliseconds patience)
      : socket_(socket), parts_{request.head, request.body}, patience_(patience) {}

  bool is_readable() const override { return !parts_[0].empty() || !parts_[1].empty(); }
  bool is_writable() const override {
    pollfd waiting{socket_, POLLOUT, 0};
    return ::poll(&waiting, 1, static_cast<int>(patience_.count())) > 0;
  }
  ssize_t read(char* to, std::size_t size) override {
    std::string_view& from = parts_[parts_[0].empty() ? 1 : 0];
    size = std::min(size, from.size());
    std::memcpy(to, from.data(), size);
    from.remove_prefix(size);
    return static_cast<ssize_t>(size);
  }
  ssize_t write(const char* data, std::size_t size) override {
    for (;;) {
      const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) return sent;
      if (errno != EAGAIN && errno != EINTR) return -1;
      if (errno == EAGAIN && !is_writable()) return -1;
    }
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  int socket_;
  std::array<std::string_view, 2> parts_;
  std::chrono::milliseconds patience_;
};

}  // namespace

struct Connections::Connection {
  Connection(int descriptor, std::size_t most_body) : socket(descriptor), requests(most_body) {}

  int socket;
  RequestReader requests;
  Clock::time_point deadline;            // of the next bytes
  std::optional<HttpRequest> part = {};  // of a request that will not be whole
  bool ended = false;                    // by the client
  bool ending = false;                   // by the server: what is read is not looked at
  bool busy = false;                     // a worker has it
};

Connections::Connections(const ConnectionLimits& limits, Answer answer)
    : limits_(limits),
      answer_(std::move(answer)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event waking{EPOLLIN, {.fd = wake_}};
  if (events_ < 0 || wake_ < 0 || ::epoll_ctl(events_, EPOLL_CTL_ADD, wake_, &waking) != 0) {
    fail("cannot wait for connections: {}", std::strerror(errno));
  }
  try {
    while (workers_.size() < limits_.workers) workers_.push_back(start_thread([this] { work(); }));
    reader_ = start_thread([this] { read_all(); });
  } catch (...) {
    stop_workers();
    throw;
  }
}

void Connections::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Connections::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || !ready_.empty(); });
    if (ready_.empty()) return;
    Connection& connection = *ready_.front();
    ready_.pop_front();
    lock.unlock();
    answer(connection);
  }
}

Connections::~Connections() {
  finish();
  ::close(events_);
  ::close(wake_);
}

void Connections::finish() {
  if (!reader_.joinable()) return;
  finishing_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  reader_.join();
  stop_workers();
}

void Connections::add(int socket) {
  const std::lock_guard lock(mutex_);
  auto& connection = open_[socket];
  connection = std::make_unique<Connection>(socket, limits_.most_body);
  connection->deadline = Clock::now() + limits_.silence;
  epoll_event event{EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, {.fd = socket}};
  if (::epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event) != 0) close(*connection);
}

void Connections::read_all() {
  constexpr int most_events = 64, milliseconds = 100;
  std::array<epoll_event, most_events> found;
  auto swept = Clock::now();
  for (bool last_read = false;;) {
    const int count = ::epoll_wait(events_, found.data(), most_events, milliseconds);
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const auto connection = open_.find(found[static_cast<std::size_t>(i)].data.fd);
      if (connection != open_.end() && !connection->second->busy) read(*connection->second);
    }
    if (finishing_ && !std::exchange(last_read, true)) read_what_has_come();
    if (const auto now = Clock::now(); finishing_ || now - swept > std::chrono::milliseconds(milliseconds)) {
      close_silent();
      swept = now;
    }
    if (last_read && open_.empty()) return;
  }
}

void Connections::read_what_has_come() {
  std::uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t taken = ::read(wake_, &wakes, sizeof wakes);
  std::vector<Connection*> waiting;
  for (const auto& [socket, connection] : open_) {
    if (!connection->busy) waiting.push_back(connection.get());
  }
  for (Connection* connection : waiting) read(*connection);
}

void Connections::close_silent() {
  std::vector<Connection*> silent;
  for (const auto& [socket, connection] : open_) {
    if (connection->busy) continue;
    const bool idle = finishing_ && connection->requests.empty() && !connection->ending;
    if (idle || connection->deadline < Clock::now()) silent.push_back(connection.get());
  }
  for (Connection* connection : silent) {
    if (connection->ending || connection->requests.empty()) {
      close(*connection);
    } else {
      hand_over(*connection, false);
    }
  }
}

void Connections::read(Connection& connection) {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = ::recv(connection.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return wait_for_more(connection);
  if (count <= 0) {
    if (connection.ending || connection.requests.empty()) return close(connection);
    connection.ended = true;
    return hand_over(connection, false);
  }
  if (connection.ending) return wait_for_more(connection);  // until the deadline of its end
  connection.deadline = Clock::now() + limits_.silence;
  connection.requests.add({bytes.data(), static_cast<std::size_t>(count)});
  if (connection.requests.ready()) return hand_over(connection, true);
  if (connection.requests.take_expectation()) {
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    [[maybe_unused]] const ssize_t sent =
        ::send(connection.socket, go_on.data(), go_on.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  wait_for_more(connection);
}

void Connections::hand_over(Connection& connection, bool whole) {
  connection.busy = true;
  if (!whole) connection.part = connection.requests.take_part();
  ready_.push_back(&connection);
  changed_.notify_one();
}

void Connections::answer(Connection& connection) {
  while (std::optional<HttpRequest> request =
             connection.part ? std::exchange(connection.part, std::nullopt) : connection.requests.take()) {
    RequestStream stream(connection.socket, *request, limits_.silence);
    const bool close = !request->whole || connection.ended || (finishing_ && !connection.requests.ready());
    bool closed = false;
    if (!answer_(stream, close, closed) || close || closed) {
      const std::lock_guard lock(mutex_);
      return end(connection);
    }
  }
  const std::lock_guard lock(mutex_);
  connection.busy = false;
  connection.deadline = Clock::now() + limits_.silence;
  wait_for_more(connection);
}

void Connections::wait_for_more(Connection& connection) {
  epoll_event event{EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, {.fd = connection.socket}};
  ::epoll_ctl(events_, EPOLL_CTL_MOD, connection.socket, &event);
}

void Connections::end(Connection& connection) {
  ::shutdown(connection.socket, SHUT_WR);
  if (connection.ended) return close(connection);
  connection.busy = false;
  connection.ending = true;
  connection.deadline = Clock::now() + std::min(limits_.silence, std::chrono::seconds(2));
  wait_for_more(connection);
}

void Connections::close(Connection& connection) {
  const int socket = connection.socket;
  open_.erase(socket);
  ::close(socket);
}

}  // namespace ptrain
