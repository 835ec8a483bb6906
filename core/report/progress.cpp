#include "core/report/progress.h"

#include "core/base/errors.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ptrain {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Remaining time from the pace since the first call (a resumed run starts in the middle).
class Eta {
 public:
  double seconds(std::int64_t done, std::int64_t total) {
    if (first_ < 0) {
      first_ = done;
      start_ = Clock::now();
      return -1;
    }
    if (done <= first_) return -1;
    return seconds_since(start_) / static_cast<double>(done - first_) * static_cast<double>(total - done);
  }

 private:
  std::int64_t first_ = -1;
  Clock::time_point start_;
};

class Bar : public Progress {
 public:
  explicit Bar(std::FILE* stream) : stream_(stream) {}

  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    if (seconds_since(drawn_) < 0.1 && done < total) return;
    drawn_ = Clock::now();
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
  Eta eta_;
  Clock::time_point drawn_{};
  bool open_ = false;
};

class Plain : public Progress {
 public:
  Plain(std::int64_t every, std::FILE* stream) : every_(std::max<std::int64_t>(1, every)), stream_(stream) {}

  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    const std::int64_t before = last_ < 0 ? done - 1 : last_;
    last_ = done;
    if (done / every_ > before / every_ || done == total) message(line(eta));
  }
  void message(std::string_view line) override {
    std::fputs(fmt::format("{}\n", line).c_str(), stream_);
    std::fflush(stream_);
  }
  void finish() override {}

 private:
  std::int64_t every_;
  std::int64_t last_ = -1;  // `done` of the last call
  std::FILE* stream_;
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

std::unique_ptr<Progress> make_progress(ProgressStyle style, std::int64_t every, std::FILE* stream) {
  if (style == ProgressStyle::automatic)
    style = isatty(fileno(stream)) != 0 ? ProgressStyle::bar : ProgressStyle::plain;
  if (style == ProgressStyle::bar) return std::make_unique<Bar>(stream);
  if (style == ProgressStyle::plain) return std::make_unique<Plain>(every, stream);
  return std::make_unique<Silent>();
}

}  // namespace ptrain
