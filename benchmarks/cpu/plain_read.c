/* Reads buffers with several threads and does nothing else: the yardstick of work that is bound by reading. One thread per part of each
   buffer; 512-bit loads (256 without AVX-512), four accumulators, no software prefetch. */
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { MAX_THREADS = 256, STEP = 256 };

struct job {
  const char *const *buffers;
  const uint64_t *bytes;
  int count, threads, rounds;
  atomic_int ready, go, done;
  _Atomic uint32_t sink;
};

struct worker {
  struct job *job;
  int index;
};

#ifdef __AVX512F__
typedef __m512i vector;
#define LOAD(p) _mm512_load_si512(p)
#define COMBINE _mm512_or_si512
#define ZERO _mm512_setzero_si512
#define FOLD(v) (uint32_t) _mm512_reduce_or_epi32(v)
#else
typedef __m256i vector;
#define LOAD(p) _mm256_load_si256((const __m256i *)(p))
#define COMBINE _mm256_or_si256
#define ZERO _mm256_setzero_si256
#define FOLD(v) (uint32_t) _mm256_extract_epi32(v, 0)
#endif

static uint32_t read_part(const char *from, const char *to) {
  vector sums[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
  for (; from + STEP <= to; from += STEP)
    for (int part = 0; part < STEP / 64; ++part)
      for (size_t at = 0; at < 64; at += sizeof(vector))
        sums[part] = COMBINE(sums[part], LOAD(from + 64 * part + at));
  return FOLD(COMBINE(COMBINE(sums[0], sums[1]), COMBINE(sums[2], sums[3])));
}

static void read_share(struct job *job, int index) {
  uint32_t bits = 0;
  for (int round = 0; round < job->rounds; ++round)
    for (int i = 0; i < job->count; ++i) {
      uint64_t steps = job->bytes[i] / STEP;
      const char *begin = job->buffers[i];
      bits |= read_part(begin + steps * index / job->threads * STEP, begin + steps * (index + 1) / job->threads * STEP);
      // Or the compiler would read once for all rounds.
      __asm__ volatile("" ::: "memory");
    }
  atomic_fetch_or(&job->sink, bits);
}

static void *work(void *argument) {
  struct worker *self = argument;
  atomic_fetch_add(&self->job->ready, 1);
  while (!atomic_load(&self->job->go))
    _mm_pause();
  read_share(self->job, self->index);
  atomic_fetch_add(&self->job->done, 1);
  return NULL;
}

/* Seconds that `threads` threads take to read `count` buffers (64-byte aligned), per round and from when all run; negative if the threads can't
   be had. */
double plain_read(const char *const *buffers, const uint64_t *bytes, int count, int threads, int rounds) {
  struct job job = {.buffers = buffers, .bytes = bytes, .count = count, .threads = threads, .rounds = rounds};
  pthread_t handles[MAX_THREADS];
  struct worker workers[MAX_THREADS];
  struct timespec begin, end;
  if (threads < 1 || threads > MAX_THREADS || rounds < 1)
    return -1;
  for (int i = 1; i < threads; ++i) {
    workers[i] = (struct worker){&job, i};
    if (pthread_create(&handles[i], NULL, work, &workers[i]))
      return -1;
  }
  while (atomic_load(&job.ready) < threads - 1)
    _mm_pause();
  clock_gettime(CLOCK_MONOTONIC, &begin);
  atomic_store(&job.go, 1);
  read_share(&job, 0);
  while (atomic_load(&job.done) < threads - 1)
    _mm_pause();
  clock_gettime(CLOCK_MONOTONIC, &end);
  for (int i = 1; i < threads; ++i)
    pthread_join(handles[i], NULL);
  return ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / rounds;
}
