// What a run shows while it goes: one line redrawn on a terminal, plain lines in a log, or nothing.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ptrain {

enum class ProgressStyle { automatic, bar, plain, none };

/// Throws Error{usage} when `name` is none of auto, bar, plain, none.
ProgressStyle progress_style_from_name(std::string_view name);

struct ProgressUpdate {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  double reader_share = 0;  // 0 to 1: part of the time spent waiting for data
  std::optional<double> loss_scale;
};

/// "step 120/938  epoch 0.13  loss 0.6123  812 samples/s  reader 3 %  ETA 1:02, at 20:41"; `eta_seconds` below 0:
/// unknown. In `width` columns: what tells least is left out first, step and ETA stay.
std::string progress_line(const ProgressUpdate& update, double eta_seconds, std::size_t width);
/// "42 s", "1:02", "2:03:04"
std::string clock_text(double seconds);

/// The clock's time when `eta_seconds` have passed: "20:41", with the date where that is a day or more away.
std::string end_time(double eta_seconds);

/// Seconds from any fixed moment on; tests have their own.
using SecondsClock = std::function<double()>;
double steady_seconds();

/// Whether lines of `stream` can be drawn again: it is a terminal, and not one of those that know no escape codes.
bool can_redraw(std::FILE* stream);

class Progress {
 public:
  /// What to show, given the seconds that are left; below 0: unknown.
  using Line = std::function<std::string(double eta_seconds)>;

  virtual ~Progress() = default;
  /// Work begins with `done` done: the first show() can tell when it will end.
  virtual void begin(std::int64_t) {}
  /// Called whenever `done` has grown; shows at most some lines per second (bar), or one each time that `done` passes a
  /// multiple of `every` and after five seconds, later sixty, without any (plain), and the one where all is done.
  virtual void show(std::int64_t done, std::int64_t total, const Line& line) = 0;
  void step(const ProgressUpdate& update) {
    show(update.step, update.total_steps,
         [&](double eta_seconds) { return progress_line(update, eta_seconds, columns()); });
  }
  /// Work beside the steps, "evaluating 512/10000  ETA 0:12"; `total` 0: unknown. In plain lines only where nothing
  /// else was told for as long as show() says.
  virtual void activity(std::string_view what, std::int64_t done, std::int64_t total) = 0;
  /// A whole line that stays: an evaluation's result, a warning.
  virtual void message(std::string_view line) = 0;
  /// Ends the redrawn line.
  virtual void finish() = 0;

 protected:
  /// What a line may take.
  virtual std::size_t columns() const = 0;
};

/// `automatic` is bar where `stream` can be redrawn, else plain. Standard error is meant: standard output stays for
/// results.
std::unique_ptr<Progress> make_progress(ProgressStyle style, std::int64_t every, std::FILE* stream = stderr,
                                        const SecondsClock& clock = steady_seconds);

}  // namespace ptrain
