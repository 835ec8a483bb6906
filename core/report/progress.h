// Progress display of a run: one line redrawn on a terminal, plain lines in a log, or nothing.
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
  double reader_share = 0;  // 0 to 1: fraction of time spent waiting for data
  std::optional<double> loss_scale;
};

/// "step 120/938  epoch 0.13  loss 0.6123  812 samples/s  reader 3 %  ETA 1:02, at 20:41"; `eta_seconds` below 0:
/// unknown. Fits `width` columns by leaving out the least important fields; step and ETA stay.
std::string progress_line(const ProgressUpdate& update, double eta_seconds, std::size_t width);
/// "42 s", "1:02", "2:03:04"
std::string clock_text(double seconds);

/// Local time after `eta_seconds`: "20:41", with the date if a day or more away.
std::string end_time(double eta_seconds);

/// Seconds since any fixed moment; tests supply their own.
using SecondsClock = std::function<double()>;
double steady_seconds();

/// Whether lines of `stream` can be redrawn: it is a terminal that knows escape codes.
bool can_redraw(std::FILE* stream);

class Progress {
 public:
  /// Makes the text to show from the remaining seconds; below 0: unknown.
  using Line = std::function<std::string(double eta_seconds)>;

  virtual ~Progress() = default;
  /// Work begins with `done` done, so that the first show() can estimate the end.
  virtual void begin(std::int64_t) {}
  /// Called whenever `done` has grown. bar shows a few lines per second; plain shows one each time `done` passes a
  /// multiple of `every`, after five seconds (later sixty) of silence, and when all is done.
  virtual void show(std::int64_t done, std::int64_t total, const Line& line) = 0;
  void show_step(const ProgressUpdate& update) {
    show(update.step, update.total_steps,
         [&](double eta_seconds) { return progress_line(update, eta_seconds, columns()); });
  }
  /// Progress of work other than steps, "evaluating 512/10000  ETA 0:12"; `total` 0: unknown. In plain style only after
  /// as much silence as in show().
  virtual void show_activity(std::string_view what, std::int64_t done, std::int64_t total) = 0;
  /// A permanent line: an evaluation's result, a warning.
  virtual void print_line(std::string_view line) = 0;
  /// Ends the redrawn line.
  virtual void finish() = 0;

 protected:
  /// Width available to a line.
  virtual std::size_t columns() const = 0;
};

/// `automatic` is bar where `stream` can be redrawn, else plain. Use standard error: standard output is for results.
std::unique_ptr<Progress> make_progress(ProgressStyle style, std::int64_t every, std::FILE* stream = stderr,
                                        const SecondsClock& clock = steady_seconds);

}  // namespace ptrain
