//===- Message.cpp - failures and the workspace check ---------------------===//

#include "Message.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

using namespace heddle::rt;

Message &Message::operator<<(const char *text) {
  const uint64_t capacity = sizeof(ctx.message) - 1;
  uint64_t size = strlen(text);
  uint64_t fits = size < capacity - length ? size : capacity - length;
  memcpy(ctx.message + length, text, fits);
  length += fits;
  ctx.message[length] = '\0';
  if (fits < size)
    memcpy(ctx.message + capacity - 3, "...", 3);
  return *this;
}

Message &Message::operator<<(int64_t value) {
  char digits[24];
  snprintf(digits, sizeof(digits), "%" PRId64, value);
  return *this << digits;
}

Message &Message::operator<<(uint64_t value) {
  char digits[24];
  snprintf(digits, sizeof(digits), "%" PRIu64, value);
  return *this << digits;
}

static const char *deviceName(int device) {
  switch (device) {
  case kDLCPU:
    return "the CPU";
  case kDLCUDA:
    return "CUDA";
  case kDLCUDAHost:
    return "CUDA host";
  case kDLCUDAManaged:
    return "CUDA managed";
  case kDLROCM:
    return "ROCm";
  case kDLMetal:
    return "Metal";
  case kDLVulkan:
    return "Vulkan";
  default:
    return "unknown";
  }
}

Message &Message::operator<<(const DLDevice &device) {
  *this << deviceName(device.device_type);
  if (device.device_type != kDLCPU)
    *this << " device " << device.device_id;
  return *this;
}

Message &Message::appendType(int64_t code, int64_t bits, int64_t lanes) {
  switch (code) {
  case kDLInt:
    *this << "i" << bits;
    break;
  case kDLUInt:
    *this << "u" << bits;
    break;
  case kDLFloat:
    *this << "f" << bits;
    break;
  case kDLBfloat:
    *this << "bf" << bits;
    break;
  case kDLComplex:
    *this << "complex" << bits;
    break;
  case HEDDLE_DL_BOOL:
    *this << "bool";
    if (bits != 8)
      *this << " of " << bits << " bits";
    break;
  default:
    *this << "type code " << code << " of " << bits << " bits";
    break;
  }
  if (lanes != 1)
    *this << " x " << lanes << " lanes";
  return *this;
}

bool heddle::rt::isUsable(const heddle_context *ctx) {
  return ctx && ctx->struct_size >= sizeof(heddle_context);
}

extern "C" int32_t heddle_rt_fail(heddle_context *ctx, int32_t status, const char *entry,
                                  const char *text, const int64_t *values, int32_t num_values) {
  if (!isUsable(ctx))
    return status;
  Message message(*ctx);
  message << entry << ": ";
  char piece[2] = {0, 0};
  while (*text) {
    bool placeholder = text[0] == '{' && text[1] >= '0' && text[1] <= '9' && text[2] == '}';
    if (placeholder && text[1] - '0' < num_values) {
      message << values[text[1] - '0'];
      text += 3;
      continue;
    }
    piece[0] = *text++;
    message << piece;
  }
  return status;
}

extern "C" int32_t heddle_rt_check_workspace(heddle_context *ctx, const char *entry,
                                             uint64_t needed) {
  if (!isUsable(ctx))
    return HEDDLE_INVALID_ARGUMENT;
  if (needed == 0)
    return HEDDLE_OK;
  if (ctx->workspace_bytes < needed) {
    Message(*ctx) << entry << ": workspace has " << ctx->workspace_bytes
                  << " bytes, expected at least " << needed << " (what " << entry
                  << "_workspace answers for these shapes)";
    return HEDDLE_WORKSPACE_TOO_SMALL;
  }
  if (!ctx->workspace) {
    Message(*ctx) << entry << ": workspace is a null pointer, expected " << needed << " bytes";
    return HEDDLE_INVALID_ARGUMENT;
  }
  uint64_t misaligned = uint64_t(ctx->workspace) % HEDDLE_WORKSPACE_ALIGNMENT;
  if (misaligned != 0) {
    Message(*ctx) << entry << ": workspace address is " << misaligned << " past a multiple of "
                  << HEDDLE_WORKSPACE_ALIGNMENT << ", expected one aligned to "
                  << HEDDLE_WORKSPACE_ALIGNMENT << " bytes";
    return HEDDLE_INVALID_ARGUMENT;
  }
  return HEDDLE_OK;
}
