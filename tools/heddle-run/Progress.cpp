//===- Progress.cpp - says what takes long --------------------------------===//

#include "Progress.h"
#include <cstdio>

using namespace heddle::run;

Progress::Progress(std::string phase)
    : phase(std::move(phase)), start(std::chrono::steady_clock::now()) {
  watcher = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    if (ended.wait_until(lock, start + std::chrono::seconds(1), [this] { return isOver; }))
      return;
    announced = true;
    std::fprintf(stderr, "heddle-run: %s ...\n", this->phase.c_str());
  });
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  ended.notify_one();
  watcher.join();
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (announced)
    std::fprintf(stderr, "heddle-run: %s took %.1f s\n", phase.c_str(), time.count());
}
