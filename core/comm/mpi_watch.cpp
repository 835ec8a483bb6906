#include "core/comm/mpi_watch.h"

#include "core/base/host_name.h"
#include "core/comm/rank_failure.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

namespace ptrain {
namespace {

constexpr int message_tag = 1;
constexpr double heartbeat_seconds = 0.2;

double count_seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

template <std::size_t size>
void set_text(char (&field)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(field, text.data(), length);
  field[length] = '\0';
}

/// Equal for processes that see the same process table.
std::string read_machine_id() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(boot, id);
  char space[64] = {};
  if (::readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0) id += space;
  return id;
}

/// Whether a process of this machine has ended; a zombie counts as ended.
bool has_ended(int process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return true;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name_end = line.rfind(')');
  const char state = name_end + 2 < line.size() ? line[name_end + 2] : '?';
  return state == 'Z' || state == 'X';
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("{}: {}", call, text);
}

MpiWatch::MpiWatch(double timeout_seconds, RankActivity& activity)
    : activity_(activity), hang_detector_(0, timeout_seconds), looked_(Clock::now()), last_heartbeat_(looked_) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size_);
  hang_detector_ = HangDetector(size_, timeout_seconds);
  introduce();
  post_receive();
}

MpiWatch::~MpiWatch() = default;

void MpiWatch::introduce() {
  struct Card {
    char host[256];
    char machine[128];
    int process;
  };
  Card mine{};
  set_text(mine.host, host_name());
  set_text(mine.machine, read_machine_id());
  mine.process = ::getpid();
  std::vector<Card> cards(static_cast<std::size_t>(size_));
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, world_), "MPI_Allgather");
  peers_.resize(cards.size());
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    Peer& peer = peers_[i];
    peer.host = cards[i].host;
    peer.machine = cards[i].machine;
    peer.process = cards[i].process;
    peer.heard = Clock::now();
    set_text(peer.last.action, "starting");
    auto found = std::find(hosts.begin(), hosts.end(), peer.host);
    if (found == hosts.end()) found = hosts.insert(hosts.end(), peer.host);
    peer.host_index = static_cast<int>(found - hosts.begin());
  }
}

int MpiWatch::local_world_size() const {
  return static_cast<int>(
      std::count_if(peers_.begin(), peers_.end(), [this](const Peer& peer) { return peer.host == rank_host(rank_); }));
}

void MpiWatch::give_up(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  reason_ = reason;
}

void MpiWatch::look(Waiting waiting) {
  constexpr double look_seconds = 0.1;
  if (count_seconds_since(looked_) < look_seconds) return;
  // A process that was itself suspended received no messages meanwhile, and must not blame the others.
  const double still_seconds = count_seconds_since(looked_);
  looked_ = Clock::now();
  if (still_seconds > 0.5 * hang_detector_.timeout_seconds()) {
    stood_still_ = still_seconds;
    for (Peer& peer : peers_) peer.heard = looked_;
    hang_detector_.restart();
  }
  receive();
  {
    std::unique_lock lock(mutex_);
    if (reason_) {
      const std::string reason = *reason_;
      lock.unlock();
      fail_all(rank_, fmt::format("{} failed: {}; it last did: {}", describe_rank(rank_), reason, activity_.text()));
    }
  }
  if (count_seconds_since(last_heartbeat_) >= heartbeat_seconds) send_heartbeats();
  check_peers(waiting);
}

void MpiWatch::post_receive() {
  check_mpi(MPI_Irecv(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, message_tag, world_, &receiving_),
            "MPI_Irecv");
}

void MpiWatch::receive() {
  for (;;) {
    int arrived = 0;
    MPI_Status status;
    check_mpi(MPI_Test(&receiving_, &arrived, &status), "MPI_Test");
    if (arrived == 0) return;
    const Message message = incoming_;
    post_receive();
    if (message.failed_rank >= 0) throw RankFailure(message.failed_rank, message.text);
    Peer& peer = peers_[static_cast<std::size_t>(status.MPI_SOURCE)];
    peer.last = message;
    peer.heard = Clock::now();
  }
}

// A message that MPI failed to send counts as sent: its receiver notices the silence by itself.
bool MpiWatch::Sending::is_done() {
  int sent = 1;
  return request == MPI_REQUEST_NULL || MPI_Test(&request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || sent != 0;
}

void MpiWatch::send(int to, Sending& sending, const Message& message) {
  sending.message = message;
  MPI_Isend(&sending.message, sizeof sending.message, MPI_BYTE, to, message_tag, world_, &sending.request);
}

MpiWatch::Message MpiWatch::sign_of_life() const {
  Message message{};
  message.failed_rank = -1;
  message.busy = activity_.busy.load();
  message.progress = activity_.progress.load();
  message.operations = operations_;
  message.step = activity_.step.load();
  set_text(message.action, activity_.action.load());
  return message;
}

void MpiWatch::send_heartbeats() {
  last_heartbeat_ = Clock::now();
  const Message message = sign_of_life();
  for (int rank = 0; rank < size_; ++rank) {
    if (!watches(rank)) continue;
    Sending& sending = peers_[static_cast<std::size_t>(rank)].sign_of_life;
    if (sending.is_done()) send(rank, sending, message);  // else it receives nothing; its silence will show
  }
}

std::string MpiWatch::describe_rank(int rank) const {
  return fmt::format("rank {} on {}", rank, peers_[static_cast<std::size_t>(rank)].host);
}

std::string MpiWatch::last_deed(int rank) const {
  const Message& last = peers_[static_cast<std::size_t>(rank)].last;
  return activity_text(last.step, last.action);
}

bool MpiWatch::misses_a_rank() const {
  constexpr double silent_seconds = 5 * heartbeat_seconds;
  for (int rank = 0; rank < size_; ++rank) {
    const double silence = count_seconds_since(peers_[static_cast<std::size_t>(rank)].heard);
    if (watches(rank) && silence > silent_seconds) return true;
  }
  return false;
}

void MpiWatch::check_peers(Waiting waiting) {
  const bool others_may_wait = misses_a_rank();
  for (int rank = 0; rank < size_; ++rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (rank == rank_) continue;
    if (peer.machine == peers_[static_cast<std::size_t>(rank_)].machine && has_ended(peer.process)) {
      receive();               // a final message may name the failure that caused its end
      if (stood_still_ > 0) {  // the others gave up on this rank
        fail_all(rank_, fmt::format("{} was suspended for {:.1f} s; it last did: {}", describe_rank(rank_),
                                    stood_still_, activity_.text()));
      }
      fail_all(rank, fmt::format("{} died; it last did: {}", describe_rank(rank), last_deed(rank)));
    }
    if (!watches(rank)) continue;
    if (count_seconds_since(peer.heard) > hang_detector_.timeout_seconds()) {
      fail_all(rank, fmt::format("{} has given no sign of life for {:g} s; it last did: {}", describe_rank(rank),
                                 hang_detector_.timeout_seconds(), last_deed(rank)));
    }
    const bool late = waiting == Waiting::yes && peer.last.operations < operations_ && !others_may_wait;
    if (late && hang_detector_.has_hung(rank, peer.last.progress, peer.last.busy > 0)) {
      fail_all(rank, fmt::format("{} has kept the others waiting for {:g} s; it last did: {}", describe_rank(rank),
                                 hang_detector_.timeout_seconds(), last_deed(rank)));
    }
  }
}

void MpiWatch::fail_all(int failed_rank, const std::string& text) {
  Message message{};
  message.failed_rank = failed_rank;
  set_text(message.text, text);
  std::vector<Sending*> under_way;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || rank == failed_rank) continue;
    under_way.push_back(&peers_[static_cast<std::size_t>(rank)].last_words);
    send(rank, *under_way.back(), message);
  }
  // Messages not sent by then will not arrive: the others notice by themselves.
  constexpr auto pause = std::chrono::milliseconds(5);
  constexpr int polls = 60;
  for (int poll = 0; poll < polls && !under_way.empty(); ++poll) {
    std::erase_if(under_way, [](Sending* sending) { return sending->is_done(); });
    if (!under_way.empty()) std::this_thread::sleep_for(pause);
  }
  throw RankFailure(failed_rank, text);
}

void MpiWatch::end() {
  for (Peer& peer : peers_) {
    if (MPI_Request& request = peer.sign_of_life.request; request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  MPI_Cancel(&receiving_);
  MPI_Request_free(&receiving_);
}

}  // namespace ptrain
