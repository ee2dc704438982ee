//===- Processors.h - how many threads are worth having -------------------===//

#ifndef HEDDLE_LIB_RUNTIME_PROCESSORS_H
#define HEDDLE_LIB_RUNTIME_PROCESSORS_H

namespace heddle {
namespace rt {

/// The number of processors that this process may keep busy: those of its affinity mask, or as many
/// as the CPU quotas of its control groups pay for if that is less. At least 1.
int countProcessors();

/// As many processors as the quotas of a process's control groups pay for, rounded up; 0 if there
/// is no quota. `membership` is its /proc/self/cgroup, `root` where the groups are mounted.
int countPaidProcessors(const char *membership, const char *root);

} // namespace rt
} // namespace heddle

#endif // HEDDLE_LIB_RUNTIME_PROCESSORS_H
