//===- Targets.cpp - which of a module's codes serves a call --------------===//

#include "CPULevel.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include <string.h>

using namespace heddle::rt;

namespace {

class Selector {
public:
  Selector(heddle_context &ctx, const char *entry, const heddle_rt_target *targets, int32_t count,
           DLTensor **args, int32_t numArgs)
      : ctx(ctx), entry(entry), targets(targets), count(count) {
    device = numArgs ? args[0]->device : DLDevice{kDLCPU, 0};
  }

  int32_t select(int32_t &choice) {
    bool onDevice = device.device_type == kDLCUDA;
    ctx.device = onDevice ? device.device_id : -1;
    if (!onDevice && device.device_type != kDLCPU)
      return failOnDevice();
    if (ctx.target && !isKnown()) {
      appendTargets(begin() << "the context's target is '" << ctx.target
                            << "', but the module has code for ");
      return HEDDLE_INVALID_ARGUMENT;
    }
    if (onDevice)
      return selectChip(choice);
    if (firstWanted(HEDDLE_RT_CPU))
      return selectVariant(choice);
    const heddle_rt_target *simulated = firstWanted(HEDDLE_RT_SIMULATED);
    if (!simulated)
      return failOnDevice();
    choice = int32_t(simulated - targets);
    return HEDDLE_OK;
  }

private:
  Message begin() {
    Message message(ctx);
    message << entry << ": ";
    return message;
  }

  const char *nameOf(const heddle_rt_target &target) const {
    return target.kind == HEDDLE_RT_CPU ? "cpu" : target.name;
  }
  /// CPU code goes by "cpu" and by the name of its variant.
  bool isWanted(const heddle_rt_target &target) const {
    return !ctx.target || strcmp(ctx.target, nameOf(target)) == 0 ||
           strcmp(ctx.target, target.name) == 0;
  }
  bool isKnown() const {
    for (int32_t i = 0; i < count; ++i)
      if (isWanted(targets[i]))
        return true;
    return false;
  }
  /// The first code of that kind that may serve the call, or null.
  const heddle_rt_target *firstWanted(int32_t kind) const {
    for (int32_t i = 0; i < count; ++i)
      if (targets[i].kind == kind && isWanted(targets[i]))
        return &targets[i];
    return nullptr;
  }

  /// The names of all targets, those of CPU variants once.
  void appendTargets(Message &message) const {
    const char *separator = "";
    for (int32_t i = 0; i < count; ++i) {
      if (i > 0 && targets[i].kind == HEDDLE_RT_CPU && targets[i - 1].kind == HEDDLE_RT_CPU)
        continue;
      message << separator << nameOf(targets[i]);
      separator = ", ";
    }
  }

  int32_t failOnDevice() {
    Message message = begin();
    message << "the tensors are on " << device;
    if (ctx.target) {
      message << ", where target '" << ctx.target << "' can't work";
      return HEDDLE_INVALID_ARGUMENT;
    }
    message << ", but the module has code for ";
    appendTargets(message);
    return HEDDLE_INVALID_ARGUMENT;
  }

  /// The fastest of the variants that this CPU can run.
  int32_t selectVariant(int32_t &choice) {
    CPU cpu = detectCPU();
    bool isRefused = false;
    auto canRun = [&](int32_t level) {
      if (!cpu.canRun(level))
        return false;
      isRefused = level >= LevelAVX512AMX && !mayUseTiles();
      return !isRefused;
    };
    choice = -1;
    for (int32_t i = 0; i < count; ++i)
      if (targets[i].kind == HEDDLE_RT_CPU && isWanted(targets[i]) && canRun(targets[i].level) &&
          (choice < 0 || cpu.rank(targets[i].level) > cpu.rank(targets[choice].level)))
        choice = i;
    if (choice >= 0)
      return HEDDLE_OK;
    const heddle_rt_target &least = *firstWanted(HEDDLE_RT_CPU);
    Message message = begin();
    if (ctx.target && strcmp(ctx.target, least.name) == 0) {
      message << "this CPU can't run variant '" << least.name << "'";
    } else {
      message << "this CPU can run none of the module's variants (";
      const char *separator = "";
      for (int32_t i = 0; i < count; ++i)
        if (targets[i].kind == HEDDLE_RT_CPU) {
          message << separator << targets[i].name;
          separator = ", ";
        }
      message << ")";
    }
    if (isRefused) {
      message << ": the operating system refuses the use of tiles";
    } else if (least.level <= LevelAVX512AMX) {
      message << ": it lacks ";
      appendMissing(message, cpu, least.level);
    }
    return HEDDLE_UNSUPPORTED_CPU;
  }

  int32_t selectChip(int32_t &choice) {
    const heddle_rt_target *first = firstWanted(HEDDLE_RT_CUDA);
    if (!first)
      return failOnDevice();
    int32_t chip;
    if (int32_t status = first->find_chip(&ctx, entry, device.device_id, &chip))
      return status;
    choice = -1;
    for (int32_t i = 0; i < count; ++i)
      if (targets[i].kind == HEDDLE_RT_CUDA && isWanted(targets[i]) && targets[i].level <= chip)
        choice = i;
    if (choice >= 0)
      return HEDDLE_OK;
    begin() << "this module has code for " << first->name << " and later, device "
            << device.device_id << " is sm_" << chip;
    return HEDDLE_UNSUPPORTED_DEVICE;
  }

  heddle_context &ctx;
  const char *entry;
  const heddle_rt_target *targets;
  int32_t count;
  DLDevice device;
};

} // namespace

extern "C" int32_t heddle_rt_select_target(heddle_context *ctx, const char *entry,
                                           const heddle_rt_target *targets, int32_t num_targets,
                                           DLTensor **args, int32_t num_args, int32_t *choice) {
  if (!isUsable(ctx))
    return HEDDLE_INVALID_ARGUMENT;
  return Selector(*ctx, entry, targets, num_targets, args, num_args).select(*choice);
}
