//===- Processors.cpp - how many threads are worth having -----------------===//
//
// A container has a CPU quota more often than an affinity mask: with 4 threads on a quota of 2
// processors, all of them stand still for the second half of each period. The quota of a control
// group is
//
//   version 2   <root>/<path>/cpu.max                        "200000 100000" or "max 100000"
//   version 1   <root>/<controllers>/<path>/cpu.cfs_quota_us     "200000" or "-1"
//                                          cpu.cfs_period_us    "100000"
//
// in microseconds, where /proc/self/cgroup names controllers and path; every group above it has a
// say too. In a container the path may be the host's, of which only the upper end exists inside.
//
//===----------------------------------------------------------------------===//

#include "Processors.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr size_t pathBytes = 4096;

/// Reads a small file into `text`, which gets a NUL at its end. False if there is none.
bool readFile(const char *path, char *text, size_t bytes) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  size_t length = 0;
  for (;;) {
    ssize_t count = read(file, text + length, bytes - 1 - length);
    if (count <= 0)
      break;
    length += size_t(count);
  }
  close(file);
  text[length] = '\0';
  return true;
}

/// The number at the beginning of `text`, after blanks; 0 if there is none or it has more than 18
/// digits. Puts `text` behind it. (strtoll would tie modules to the C library of the build machine.)
int64_t readNumber(const char *&text) {
  int64_t number = 0;
  int digits = 0;
  for (text += strspn(text, " "); *text >= '0' && *text <= '9'; ++text)
    if (++digits <= 18)
      number = 10 * number + (*text - '0');
  return digits <= 18 ? number : 0;
}

/// One more limit of `quota` in each `period`; 0 stands for none.
void addLimit(int &paid, int64_t quota, int64_t period) {
  if (quota == 0 || period == 0)
    return;
  int64_t count = quota / period + (quota % period != 0);
  if (count < INT32_MAX && (paid == 0 || count < paid))
    paid = int(count);
}

/// The limit of the group in `folder`, of either version.
void addGroup(int &paid, const char *folder) {
  char path[pathBytes + 32], text[64];
  const char *at = text;
  snprintf(path, sizeof(path), "%s/cpu.max", folder);
  if (readFile(path, text, sizeof(text))) {
    int64_t quota = readNumber(at);
    addLimit(paid, quota, readNumber(at));
  }
  snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
  if (!readFile(path, text, sizeof(text)))
    return;
  int64_t quota = readNumber(at = text);
  snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
  if (readFile(path, text, sizeof(text)))
    addLimit(paid, quota, readNumber(at = text));
}

/// The limits of the group at `path` and of all above it.
void addGroups(int &paid, const char *root, const char *hierarchy, const char *path) {
  char folder[pathBytes];
  int top = snprintf(folder, sizeof(folder), "%s%s%s", root, *hierarchy ? "/" : "", hierarchy);
  if (top < 0 || size_t(top) >= sizeof(folder) ||
      size_t(snprintf(folder + top, sizeof(folder) - size_t(top), "%s", path)) >=
          sizeof(folder) - size_t(top))
    return;
  for (;;) {
    addGroup(paid, folder);
    char *slash = strrchr(folder + top, '/');
    if (!slash)
      return;
    *slash = '\0';
  }
}

/// Whether a list such as "cpu,cpuacct" names the cpu controller.
bool namesCPU(const char *controllers) {
  for (const char *at = controllers;; ++at) {
    size_t length = strcspn(at, ",");
    if (length == 3 && memcmp(at, "cpu", 3) == 0)
      return true;
    at += length;
    if (*at == '\0')
      return false;
  }
}

} // namespace

int heddle::rt::countPaidProcessors(const char *membership, const char *root) {
  // Far more than the lines of all controllers with the paths that container managers make.
  char text[4 * pathBytes];
  int paid = 0;
  if (!readFile(membership, text, sizeof(text)))
    return 0;
  // Lines "number:controllers:path"; of version 2 the controllers are empty.
  char *rest = text;
  while (char *line = strsep(&rest, "\n")) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(++controllers, ':') : nullptr;
    if (!path)
      continue;
    *path++ = '\0';
    if (*controllers == '\0') {
      addGroups(paid, root, "", path);
      addGroups(paid, root, "unified", path); // beside version 1
    } else if (namesCPU(controllers)) {
      addGroups(paid, root, controllers, path);
      addGroups(paid, root, "cpu", path);
    }
  }
  return paid;
}

int heddle::rt::countProcessors() {
  cpu_set_t set;
  int count;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    count = CPU_COUNT(&set);
  else // more processors than a cpu_set_t holds
    count = int(sysconf(_SC_NPROCESSORS_ONLN));
  int paid = countPaidProcessors("/proc/self/cgroup", "/sys/fs/cgroup");
  if (paid > 0 && paid < count)
    count = paid;
  return count < 1 ? 1 : count;
}
