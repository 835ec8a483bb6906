#include "core/report/progress.h"

#include "core/base/errors.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

/// Estimates the remaining time from the pace so far. The first step, which includes setup, counts only until the
/// second is done; without begin() the pace starts at the first call (a resumed run starts in the middle).
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

/// Progress of work other than steps, with its own pace.
class RankActivity {
 public:
  explicit RankActivity(SecondsClock clock) : clock_(std::move(clock)), eta_(clock_) {}

  std::string line(std::string_view what, std::int64_t done, std::int64_t total) {
    if (what != what_ || done < done_) {
      what_ = what;
      eta_ = Eta(clock_);
      eta_.begin(0);
    }
    done_ = done;
    const double left = eta_.seconds(done, total);
    if (total == 0) return done == 0 ? what_ : fmt::format("{} {}", what_, done);
    return fmt::format("{} {}/{}{}", what_, done, total, left > 0 ? "  ETA " + clock_text(left) : "");
  }

 private:
  SecondsClock clock_;
  Eta eta_;
  std::string what_;
  std::int64_t done_ = 0;
};

class Bar : public Progress {
 public:
  Bar(std::FILE* stream, const SecondsClock& clock) : stream_(stream), clock_(clock), eta_(clock), activity_(clock) {}

  void begin(std::int64_t done) override { eta_.begin(done); }
  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    if (is_due(done == total)) draw(done, total, line(eta));
  }
  void show_activity(std::string_view what, std::int64_t done, std::int64_t total) override {
    const std::string line = activity_.line(what, done, total);
    if (is_due(done == 0)) draw(done, total, line);
  }
  void print_line(std::string_view line) override { put(fmt::format("{}{}\n", open_ ? "\r\x1b[K" : "", line)); }
  void finish() override {
    if (open_) put("\n");
    open_ = false;
  }

 private:
  static constexpr std::size_t longest_bar = 20, shortest_bar = 5,
                               bar_frame = 3;  // in characters; frame: brackets and a space

  bool is_due(bool always) {
    if (clock_() - drawn_ < 0.1 && !always) return false;
    drawn_ = clock_();
    return true;
  }
  void draw(std::int64_t done, std::int64_t total, std::string text) {
    const std::size_t space = terminal_columns() - 1;
    const std::size_t width = std::min(longest_bar, space - std::min(space, text.size() + bar_frame));
    if (total > 0 && width >= shortest_bar) {
      const double part = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
      const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
      text = fmt::format("[{:#<{}}{:.<{}}] {}", "", filled, "", width - filled, text);
    }
    text.resize(std::min(text.size(), space));
    put(fmt::format("\r{}\x1b[K", text));
    open_ = true;
  }
  std::size_t columns() const override { return terminal_columns() - 1 - shortest_bar - bar_frame; }
  std::size_t terminal_columns() const {
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
  RankActivity activity_;
  double drawn_ = -1e9;
  bool open_ = false;
};

class Plain : public Progress {
 public:
  Plain(std::int64_t every, std::FILE* stream, const SecondsClock& clock)
      : every_(std::max<std::int64_t>(1, every)),
        stream_(stream),
        clock_(clock),
        shown_(clock()),
        eta_(clock),
        activity_(clock) {}

  void begin(std::int64_t done) override {
    eta_.begin(done);
    shown_ = clock_();
    spoke_ = false;
  }
  void show(std::int64_t done, std::int64_t total, const Line& line) override {
    const double eta = eta_.seconds(done, total);
    const std::int64_t before = last_ < 0 ? done - 1 : last_;
    last_ = done;
    if (done / every_ > before / every_ || done == total || silent_too_long()) print(line(eta));
  }
  void show_activity(std::string_view what, std::int64_t done, std::int64_t total) override {
    const std::string line = activity_.line(what, done, total);
    if (silent_too_long()) print(line);
  }
  void print_line(std::string_view line) override {
    std::fputs(fmt::format("{}\n", line).c_str(), stream_);
    std::fflush(stream_);
  }
  void finish() override {}

 private:
  // Seconds between lines at most, so that slow steps still show an ETA.
  static constexpr double first_silence = 5, long_silence = 60;

  bool silent_too_long() const { return clock_() - shown_ >= (spoke_ ? long_silence : first_silence); }
  void print(std::string_view line) {
    print_line(line);
    spoke_ = true;
    shown_ = clock_();
  }
  std::size_t columns() const override { return std::string::npos; }

  std::int64_t every_;
  std::int64_t last_ = -1;  // `done` of the last call
  std::FILE* stream_;
  SecondsClock clock_;
  double shown_;
  bool spoke_ = false;
  Eta eta_;
  RankActivity activity_;
};

class Silent : public Progress {
 public:
  void show(std::int64_t, std::int64_t, const Line&) override {}
  void show_activity(std::string_view, std::int64_t, std::int64_t) override {}
  void print_line(std::string_view) override {}
  void finish() override {}

 private:
  std::size_t columns() const override { return 0; }
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
  if (whole >= 86400) return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
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

std::string progress_line(const ProgressUpdate& update, double eta_seconds, std::size_t width) {
  const double rate = update.samples_per_second;
  const int decimals = rate < 10 ? 2 : rate < 100 ? 1 : 0;
  struct Field {
    std::string text;
    int weight;  // fields with the smallest weight are left out first
  };
  std::vector<Field> fields = {{fmt::format("step {}/{}", update.step, update.total_steps), 6},
                               {fmt::format("  epoch {:.2f}", update.epoch), 1},
                               {fmt::format("  loss {:.4f}", update.loss), 5},
                               {fmt::format("  {:.{}f} samples/s", rate, decimals), 4},
                               {fmt::format("  reader {:.0f} %", 100 * update.reader_share), 2}};
  if (update.loss_scale) fields.push_back({fmt::format("  scale {:g}", *update.loss_scale), 3});
  if (eta_seconds >= 0) fields.push_back({fmt::format("  ETA {}", clock_text(eta_seconds)), 6});
  if (eta_seconds > 0) fields.push_back({", at " + end_time(eta_seconds), 0});
  const auto size = [&] {
    std::size_t sum = 0;
    for (const Field& field : fields) sum += field.text.size();
    return sum;
  };
  for (int weight = 0; weight < 6 && size() > width; ++weight) {
    std::erase_if(fields, [&](const Field& field) { return field.weight == weight; });
  }
  std::string line;
  for (const Field& field : fields) line += field.text;
  return line;
}

bool can_redraw(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  return isatty(fileno(stream)) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::unique_ptr<Progress> make_progress(ProgressStyle style, std::int64_t every, std::FILE* stream,
                                        const SecondsClock& clock) {
  if (style == ProgressStyle::automatic) style = can_redraw(stream) ? ProgressStyle::bar : ProgressStyle::plain;
  if (style == ProgressStyle::bar) return std::make_unique<Bar>(stream, clock);
  if (style == ProgressStyle::plain) return std::make_unique<Plain>(every, stream, clock);
  return std::make_unique<Silent>();
}

}  // namespace ptrain
