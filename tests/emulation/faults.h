// Faults that the emulated libraries are asked for by the environment variable EMULATED_FAULT: "instantiation" of a
// graph, "plan NAME" of cuDNN ("plan *": all), "compilation" of any, "lonely compilation" of a batch norm's plan, "draw
// of attention" or of "attention_grad" (cuDNN draws no dropout there), "order of masks" (bits from the highest on),
// "algorithm N" of cuBLASLt, "saving" of a cuDNN plan, "no nvJPEG", "nvJPEG implementation" (none for any image).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>

namespace emulation {

/// Whether `what` is to fail.
inline bool fails(const std::string& what) {
  const char* asked = std::getenv("EMULATED_FAULT");
  return asked != nullptr && (what == asked || (asked == std::string("plan *") && what.starts_with("plan ")));
}

/// Whether another thread is in this function too, now or within two seconds.
inline bool has_company() {
  static std::mutex mutex;
  static std::condition_variable came;
  static int inside = 0, visits = 0;
  std::unique_lock lock(mutex);
  const bool is_second = ++inside > 1;
  const int mine = ++visits;
  came.notify_all();
  const bool met = is_second || came.wait_for(lock, std::chrono::seconds(2), [&] { return visits > mine; });
  --inside;
  return met;
}

}  // namespace emulation
