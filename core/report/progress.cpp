#include "core/report/progress.h"

#include "core/base/errors.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

namespace ptrain {
namespace {

/// Remaining time from the pace so far. The first step, which sets up more than others, counts until the second is
/// done; without begin() the pace is that since the first call (a resumed run starts in the middle).
class Eta {
 public:
  explicit Eta(SecondsClock clock) : clock_(std::move(clock)) {}

  void begin(std::int64_t done) {
    first_ = done;
    start_ = clock_();
  }
  double seconds(std::int64_t done, std::int64_t total) {
    const double left = first_ < 0 || done <= first_ ? -1
                                                     : (clock_() - start_) / static_cast<double>(done - first_) *
                                                           static_cast<double>(total - done);
    if (!paced_) begin(done);
    paced_ = true;
    return left;
  }

 private:
  SecondsClock clock_;
  std::int64_t first_ = -1;
  double start_ = 0;
  bool paced_ = false;
};

class Bar : public Progress {
 public:
  Bar(std::FILE* stream, const SecondsClock& clock) : stream_(stream), clock_(clock), eta_(clock) {}

  void begin(std::int64_t done) override { eta_.begin(done); }
  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    if (clock_() - drawn_ < 0.1 && done < total) return;
    drawn_ = clock_();
    const double part = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
    const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kWidth);
    std::string text = fmt::format("[{:#<{}}{:.<{}}] {}", "", filled, "", kWidth - filled, line(eta));
    text.resize(std::min(text.size(), columns() - 1));
    put(fmt::format("\r{}\x1b[K", text));
    open_ = true;
  }
  void message(std::string_view line) override { put(fmt::format("{}{}\n", open_ ? "\r\x1b[K" : "", line)); }
  void finish() override {
    if (open_) put("\n");
    open_ = false;
  }

 private:
  static constexpr std::size_t kWidth = 20;

  std::size_t columns() const {
    winsize size{};
    return ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 120;
  }
  void put(const std::string& text) {
    std::fputs(text.c_str(), stream_);
    std::fflush(stream_);
  }

  std::FILE* stream_;
  SecondsClock clock_;
  Eta eta_;
  double drawn_ = -1e9;
  bool open_ = false;
};

class Plain : public Progress {
 public:
  Plain(std::int64_t every, std::FILE* stream, const SecondsClock& clock)
      : every_(std::max<std::int64_t>(1, every)), stream_(stream), clock_(clock), shown_(clock()), eta_(clock) {}

  void begin(std::int64_t done) override {
    eta_.begin(done);
    shown_ = clock_();
  }
  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    const std::int64_t before = last_ < 0 ? done - 1 : last_;
    last_ = done;
    const bool silent_too_long = clock_() - shown_ >= (spoke_ ? long_silence : first_silence);
    if (done / every_ <= before / every_ && done != total && !silent_too_long) return;
    message(line(eta));
    spoke_ = true;
    shown_ = clock_();
  }
  void message(std::string_view line) override {
    std::fputs(fmt::format("{}\n", line).c_str(), stream_);
    std::fflush(stream_);
  }
  void finish() override {}

 private:
  // Seconds without a line: where steps are slow, the end's time is not left open for long.
  static constexpr double first_silence = 5, long_silence = 60;

  std::int64_t every_;
  std::int64_t last_ = -1;  // `done` of the last call
  std::FILE* stream_;
  SecondsClock clock_;
  double shown_;
  bool spoke_ = false;
  Eta eta_;
};

class Silent : public Progress {
 public:
  void show(std::int64_t, std::int64_t, const Line&) override {}
  void message(std::string_view) override {}
  void finish() override {}
};

}  // namespace

ProgressStyle progress_style_from_name(std::string_view name) {
  if (name == "auto") return ProgressStyle::automatic;
  if (name == "bar") return ProgressStyle::bar;
  if (name == "plain") return ProgressStyle::plain;
  if (name == "none") return ProgressStyle::none;
  fail_usage("--progress {}: expected one of auto|bar|plain|none", name);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string end_time(double eta_seconds) {
  const std::time_t end = std::time(nullptr) + std::llround(std::clamp(eta_seconds, 0.0, 1e9));
  constexpr double day = 86400;
  return eta_seconds < day ? fmt::format("{:%H:%M}", fmt::localtime(end))
                           : fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(end));
}

std::string progress_line(const ProgressUpdate& update, double eta_seconds) {
  const double rate = update.samples_per_second;
  std::string line = fmt::format("step {}/{}  epoch {:.2f}  loss {:.4f}  {:.{}f} samples/s  reader {:.0f} %",
                                 update.step, update.total_steps, update.epoch, update.loss, rate,
                                 rate < 10    ? 2
                                 : rate < 100 ? 1
                                              : 0,
                                 100 * update.reader_share);
  if (update.loss_scale) line += fmt::format("  scale {:g}", *update.loss_scale);
  if (eta_seconds >= 0) line += fmt::format("  ETA {}", clock_text(eta_seconds));
  return line;
}

std::unique_ptr<Progress> make_progress(ProgressStyle style, std::int64_t every, std::FILE* stream,
                                        const SecondsClock& clock) {
  if (style == ProgressStyle::automatic)
    style = isatty(fileno(stream)) != 0 ? ProgressStyle::bar : ProgressStyle::plain;
  if (style == ProgressStyle::bar) return std::make_unique<Bar>(stream, clock);
  if (style == ProgressStyle::plain) return std::make_unique<Plain>(every, stream, clock);
  return std::make_unique<Silent>();
}

}  // namespace ptrain
