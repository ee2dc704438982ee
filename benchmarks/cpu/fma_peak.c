/* Prints the f32 FMA rate of N threads in GFLOP/s: independent chains of vector FMAs on registers, nothing from memory. */
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHAINS = 12, STEPS = 8000000 };

#ifdef __AVX512F__
typedef __m512 vector;
#define LANES 16
#define SET _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#else
typedef __m256 vector;
#define LANES 8
#define SET _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#endif

static void *work(void *unused) {
  vector sums[CHAINS];
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = SET((float)i);
  vector factor = SET(0.999f), term = SET(1e-3f);
  for (long step = 0; step < STEPS; ++step)
    for (int i = 0; i < CHAINS; ++i) {
      sums[i] = FMA(sums[i], factor, term);
      __asm__ volatile("" : "+v"(sums[i]));
    }
  return unused;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1;
  if (count < 1 || count > 256) {
    fprintf(stderr, "usage: fma_peak [threads]\n");
    return 2;
  }
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    pthread_t threads[256];
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < count; ++i)
      pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < count; ++i)
      pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (end.tv_sec - begin.tv_sec) + 1e-9 * (end.tv_nsec - begin.tv_nsec);
    double rate = 2.0 * LANES * CHAINS * STEPS * count / seconds * 1e-9;
    best = rate > best ? rate : best;
  }
  printf("%.1f\n", best);
  return 0;
}
