#!/usr/bin/env bash
# Adds up what the suites have written to build/test-results. The last line is "N passed, N failed" or, if tests were skipped,
# "N passed, N failed, N skipped". Exit status 1 if anything failed or nothing passed.
#
#   scripts/summary.sh SUITE...
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  "" | -*) fail_usage "expected the names of suites, not '${1:-}'" ;;
esac

passed=0 failed=0 skipped=0 skips=() failures=()
for suite in "$@"; do
  file=$results/$suite.txt
  if [[ ! -s $file ]]; then
    failures+=("$suite: the suite has no results")
    failed=$((failed + 1))
    continue
  fi
  while read -r kind rest; do
    case $kind in
      passed) passed=$((passed + rest)) ;;
      failed) failed=$((failed + rest)) ;;
      skipped) skipped=$((skipped + 1)) skips+=("$rest") ;;
      failure) failures+=("$rest") ;;
    esac
  done <"$file"
done

((${#skips[@]} == 0)) || printf 'skipped: %s\n' "${skips[@]}"
((${#failures[@]} == 0)) || printf 'FAILED: %s\n' "${failures[@]}"
line="$passed passed, $failed failed"
((skipped == 0)) || line+=", $skipped skipped"
echo "$line"
((failed == 0 && passed > 0))
