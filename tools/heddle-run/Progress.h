//===- Progress.h - says what takes long ----------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_PROGRESS_H
#define HEDDLE_TOOLS_RUN_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace heddle {
namespace run {

/// While it lives, a phase of the run goes on. Says so on stderr after one second, and at the end
/// how long it took; a shorter phase says nothing.
class Progress {
public:
  explicit Progress(std::string phase);
  ~Progress();
  Progress(const Progress &) = delete;

private:
  std::string phase;
  std::chrono::steady_clock::time_point start;
  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false, announced = false;
  std::thread watcher;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_PROGRESS_H
