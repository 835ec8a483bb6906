#include "core/base/threads.h"

#include <exception>
#include <future>
#include <vector>

namespace ptrain {

void run_together(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::promise<bool> complete;
  const std::shared_future<bool> go = complete.get_future().share();
  std::vector<std::thread> running;
  std::exception_ptr refused;
  try {
    while (running.size() < count) {
      running.push_back(start_thread([&body, go, rank = running.size()] {
        if (go.get()) body(rank);
      }));
    }
  } catch (const Error&) {
    refused = std::current_exception();
  }
  complete.set_value(!refused);
  for (std::thread& thread : running) thread.join();
  if (refused) std::rethrow_exception(refused);
}

}  // namespace ptrain
