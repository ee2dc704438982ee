/* generate.c - calls a compiled decoder from C: a prompt, then four tokens, one at a time.
 *
 *     generate test/goldens/models/llama/model.safetensors
 */
#include "llama.h" /* written by heddle-compile beside the module */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
  CAPACITY = 16,
  HEADS = 2,
  DIM = 16,
  VOCABULARY = 211,
  LAYERS = 3,
  PROMPT = 4,
  MAX_ARGS = 64
};

/* A tensor over memory of ours: type code and bits of DLPack, dense rows. */
static DLTensor *tensor(void *data, uint8_t code, uint8_t bits, int32_t rank,
                        const int64_t *shape) {
  DLTensor *t = calloc(1, sizeof *t);
  t->data = data;
  t->device.device_type = kDLCPU;
  t->dtype.code = code;
  t->dtype.bits = bits;
  t->dtype.lanes = 1;
  t->ndim = rank;
  t->shape = memcpy(malloc(sizeof(int64_t) * (size_t)rank), shape, sizeof(int64_t) * (size_t)rank);
  return t;
}

/* The tensor of that name in a .safetensors file: 8 bytes of length, a JSON header, data. */
static DLTensor *weight(char *file, const char *name) {
  uint64_t header;
  memcpy(&header, file, 8);
  char key[160];
  snprintf(key, sizeof key, "\"%s\":{", name);
  char *entry = memmem(file + 8, header, key, strlen(key));
  if (!entry)
    return NULL;
  int64_t shape[2] = {0, 0};
  unsigned long long begin;
  int rank = sscanf(strstr(entry, "\"shape\":["), "\"shape\":[%ld,%ld", &shape[0], &shape[1]);
  sscanf(strstr(entry, "\"data_offsets\":["), "\"data_offsets\":[%llu", &begin);
  return tensor(file + 8 + header + begin, kDLBfloat, 16, rank, shape);
}

/* Calls an entry with the workspace that it asks for. */
static void call(heddle_workspace_fn workspace, heddle_entry_fn entry, DLTensor **args,
                 int32_t count) {
  heddle_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  if (workspace(&context, args, count, &context.workspace_bytes) == HEDDLE_OK) {
    context.workspace = aligned_alloc(64, (context.workspace_bytes + 63) / 64 * 64);
    if (entry(&context, args, count) == HEDDLE_OK) {
      free(context.workspace);
      return;
    }
  }
  fprintf(stderr, "%s\n", context.message);
  exit(1);
}

static int64_t best(const float *logits) {
  int64_t largest = 0;
  for (int64_t i = 1; i < VOCABULARY; ++i)
    if (logits[i] > logits[largest])
      largest = i;
  return largest;
}

int main(int argc, char **argv) {
  int descriptor = argc == 2 ? open(argv[1], O_RDONLY) : -1;
  struct stat size;
  if (descriptor < 0 || fstat(descriptor, &size))
    return fprintf(stderr, "usage: generate FILE.safetensors\n"), 2;
  char *file = mmap(NULL, (size_t)size.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);

  int64_t prompt[PROMPT] = {150, 84, 141, 71};
  int32_t start = 0;
  float logits[PROMPT * VOCABULARY];
  DLTensor *args[MAX_ARGS];
  int32_t count = 0;
  args[count++] = tensor(prompt, kDLInt, 64, 2, (int64_t[]){1, PROMPT});
  args[count++] = tensor(&start, kDLInt, 32, 1, (int64_t[]){1});
  for (int cache = 0; cache < 2 * LAYERS; ++cache)
    args[count++] = tensor(malloc(sizeof(float) * CAPACITY * HEADS * DIM), kDLFloat, 32, 4,
                           (int64_t[]){1, CAPACITY, HEADS, DIM});
  /* The order of the weights is that of llama.h. */
  args[count++] = weight(file, "model.embed_tokens.weight");
  static const char *parts[] = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
  for (int layer = 0; layer < LAYERS; ++layer)
    for (size_t part = 0; part < sizeof parts / sizeof *parts; ++part) {
      char name[128];
      snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, parts[part]);
      args[count++] = weight(file, name);
    }
  args[count++] = weight(file, "model.norm.weight");
  args[count++] = tensor(logits, kDLFloat, 32, 3, (int64_t[]){1, PROMPT, VOCABULARY});

  call(prefill_workspace, prefill, args, count);
  int64_t token = best(logits + (PROMPT - 1) * VOCABULARY);
  printf("C:");
  for (start = PROMPT; start < PROMPT + 4; ++start) {
    printf(" %ld", token);
    args[0] = tensor(&token, kDLInt, 64, 2, (int64_t[]){1, 1});
    args[count - 1] = tensor(logits, kDLFloat, 32, 3, (int64_t[]){1, 1, VOCABULARY});
    call(decode_workspace, decode, args, count);
    token = best(logits);
  }
  printf("\n");
  return 0;
}
