#!/usr/bin/env bash
# Runs the unit tests that are built, as many processes side by side as there are processors: of large programs one for each test suite, as what suites have in
# common is compiled once, or for each test.
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

# Large programs are many processes: one for each test suite; of a suite with parameters one for each of them, unless its parameters are ways to compile, whose
# tests have their modules in common. They come first, so that no processor waits for the last of them.
large=(IntegrationTests DecoderRunTest RandomOpsTests MutationTests TileToNVVMTests)

# list_filters PROGRAM: the number of its tests, and what each of its processes runs.
list_filters() {
  "$bin/unittests/$1" --gtest_list_tests | awk -v isLarge="$([[ " ${large[*]} " == *" $1 "* ]] && echo 1)" '
    $1 ~ /\.$/ && !/^ / { suite = $1 }
    /^  / {
      ++count
      parts = split($1, part, "/")
      filter = !isLarge ? "*" : suite (parts > 1 && suite !~ /^Ways\// ? "*/" part[parts] : "*")
      if (!(filter in seen)) filters[++number] = filter
      seen[filter]
    }
    END { print count + 0; for (i = 1; i <= number; ++i) print filters[i] }'
}

logs=$results/unit
rm -rf "$logs"
mkdir -p "$logs"

# run_tests PROGRAM NUMBER FILTER: its output and exit status go into files.
run_tests() {
  local log=$logs/$1.$2 status=0 start=$SECONDS
  "$bin/unittests/$1" --gtest_color=no --gtest_filter="$3" >"$log" 2>&1 || status=$?
  echo "$status $((SECONDS - start))" >"$log.status"
}
export -f run_tests
export logs bin

declare -A expected jobs
order=()
for program in "${large[@]}" "${programs[@]}"; do
  [[ " ${programs[*]} " == *" $program "* && -z ${expected[$program]:-} ]] || continue
  mapfile -t filters < <(list_filters "$program")
  expected[$program]=${filters[0]:-0} jobs[$program]=$((${#filters[@]} - 1))
  order+=("$program")
  for ((number = 1; number < ${#filters[@]}; ++number)); do
    printf '%s\0%s\0%s\0' "$program" "$number" "${filters[number]}"
  done
done >"$logs/jobs"
run_side_by_side run_tests 3 "$logs/jobs"

# add_results LOG: adds to the counts and failures of $program.
add_results() {
  local log=$1 status seconds counts skips last
  await_status "$log"
  read -r status seconds <"$log.status"
  taken=$((taken + seconds))
  counts=($(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log") 0)
  passed=$((passed + counts))
  counts=($(sed -n 's/^ *\([0-9]*\) FAILED TESTS\{0,1\}$/\1/p' "$log") 0)
  failed=$((failed + counts))
  # Lines between "[ RUN ]" and "[  SKIPPED ]" of a test hold the reason, after one with file and line.
  skips=$(awk '/^\[ RUN      \]/ { reason = ""; next }
               /^\[  SKIPPED \] .*\(/ { print "skipped " $4 ": " reason; next }
               !/: Skipped$/ && NF { reason = reason (reason == "" ? "" : " ") $0 }' "$log")
  [[ -z $skips ]] || { echo "$skips" >>"$suite_file"; skipped=$((skipped + $(wc -l <<<"$skips"))); }
  if ((status != 0 && counts == 0)); then
    last=$(sed -n 's/^\[ RUN      \] //p' "$log" | tail -n 1)
    failed=$((failed + 1)) broken=1
    echo "failure $program: exit status $status without a verdict, last was ${last:-no test}" >>"$suite_file"
  fi
  sed -n 's/^\[  FAILED  \] \([^ ,]*\.[^ ,]*\).*/failure '"$program"': \1/p' "$log" | sort -u >>"$suite_file"
  # Not `head`, which leaves before the end: the pipe would break, and with it this script.
  ((status == 0)) || output+=$(grep -vE '^\[ +(OK|RUN) +\]|^\[-+\]' "$log" | sed -n 's/^/    /; 1,200p')$'\n'
}

for program in "${order[@]}"; do
  passed=0 failed=0 skipped=0 taken=0 broken=0 output=
  for ((number = 1; number <= jobs[$program]; ++number)); do add_results "$logs/$program.$number"; done
  if ((broken == 0 && (passed + failed + skipped != expected[$program] || expected[$program] == 0))); then
    echo "failure $program: $((passed + failed + skipped)) tests have run, of ${expected[$program]}" >>"$suite_file"
    failed=$((failed + 1))
  fi
  suite_passed=$((suite_passed + passed)) suite_failed=$((suite_failed + failed))
  echo "unit: $program: $passed passed$( ((failed == 0)) || echo ", $failed FAILED") ($taken s)"
  printf '%s' "$output"
done
wait
end_suite
