#!/usr/bin/env bash
# Builds everything and runs all tests; the last line counts them.
#
#   scripts/test.sh                 all suites
#   scripts/test.sh SUITE...        of: unit lit goldens docs format install
set -euo pipefail
source "$(dirname "$0")/common.sh"

all=(unit lit goldens docs format install)
suites=("${@:-${all[@]}}")
case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  "") suites=("${all[@]}") ;;
esac
for suite in "${suites[@]}"; do
  [[ " ${all[*]} " == *" $suite "* ]] || fail_usage "unknown suite '$suite'; known are: ${all[*]}"
done

start=$SECONDS
rm -rf "$results"
if ! scripts/build.sh; then
  echo "FAILED: the build"
  echo "0 passed, 1 failed"
  exit 1
fi
mkdir -p "$results"
# Those that mostly work on one processor run side by side, at the end.
single=()
for suite in "${suites[@]}"; do
  case $suite in
    docs | format | install) single+=("$suite"); continue ;;
  esac
  echo "test: suite $suite"
  # A failure is in the suite's results and in the summary.
  "scripts/test-$suite.sh" || true
done
for suite in "${single[@]}"; do
  "scripts/test-$suite.sh" >"$results/$suite.log" 2>&1 &
done
wait
for suite in "${single[@]}"; do
  echo "test: suite $suite"
  cat "$results/$suite.log"
done
echo "test: $((SECONDS - start)) s in all"
scripts/summary.sh "${suites[@]}"
