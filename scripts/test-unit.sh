#!/usr/bin/env bash
# Runs the unit tests that are built.
#
#   scripts/test-unit.sh            all programs of build/bin/unittests
#   scripts/test-unit.sh NAME...    only these programs
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give names of programs" ;;
esac

begin_suite unit
if (($#)); then programs=("$@"); else mapfile -t programs < <(grep . "$build/unittests.txt"); fi

for program in "${programs[@]}"; do
  log=$results/unit-$program.log
  start=$SECONDS
  status=0
  "$bin/unittests/$program" --gtest_color=no >"$log" 2>&1 || status=$?
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
  failed=$(sed -n 's/^ *\([0-9]*\) FAILED TESTS\{0,1\}$/\1/p' "$log")
  passed=${passed:-0} failed=${failed:-0}
  # Lines between "[ RUN ]" and "[  SKIPPED ]" of a test hold the reason, after one with file and line.
  skips=$(awk '/^\[ RUN      \]/ { reason = ""; next }
               /^\[  SKIPPED \] .*\(/ { print "skipped " $4 ": " reason; next }
               !/: Skipped$/ && NF { reason = reason (reason == "" ? "" : " ") $0 }' "$log")
  if ((status != 0 && failed == 0)) || [[ -z $skips && $((passed + failed)) == 0 ]]; then
    failed=1
    last=$(sed -n 's/^\[ RUN      \] //p' "$log" | tail -n 1)
    echo "failure $program: exit status $status without a verdict, last was ${last:-no test}" >>"$suite_file"
  fi
  sed -n 's/^\[  FAILED  \] \([^ ,]*\.[^ ,]*\).*/failure '"$program"': \1/p' "$log" | sort -u >>"$suite_file"
  [[ -z $skips ]] || echo "$skips" >>"$suite_file"
  suite_passed=$((suite_passed + passed)) suite_failed=$((suite_failed + failed))
  if ((failed)); then
    echo "unit: $program: $passed passed, $failed FAILED ($((SECONDS - start)) s)"
    # Not `head`, which leaves before the end: the pipe would break, and with it this script.
    grep -vE '^\[ +(OK|RUN) +\]' "$log" | sed -n 's/^/    /; 1,200p'
  else
    echo "unit: $program: $passed passed ($((SECONDS - start)) s)"
  fi
done
end_suite
