# Sourced by the other scripts: where things are, and how a suite reports its results.
#
# A suite writes build/test-results/<suite>.txt with one line per fact:
#   passed N | failed N | failure NAME | skipped NAME: REASON
# scripts/summary.sh adds them up.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# Another build folder, for a second configuration beside the first.
build=$(realpath -m "${HEDDLE_BUILD_DIR:-build}")
bin=$build/bin
results=$build/test-results

# Prints the lines of the script's own head comment, for --help.
print_help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

fail_usage() {
  echo "${0##*/}: $1" >&2
  exit 2
}

# expect_no_arguments "$@": of a script that has no options but --help.
expect_no_arguments() {
  case "${1:-}" in
    "") ;;
    -h | --help) print_help; exit 0 ;;
    *) fail_usage "unknown argument '$1'" ;;
  esac
}

# begin_suite NAME: empties the suite's result file.
begin_suite() {
  suite=$1
  suite_file=$results/$suite.txt
  suite_passed=0 suite_failed=0
  mkdir -p "$results"
  : >"$suite_file"
}

# check NAME COMMAND...: one test of a suite. Its output is shown if it fails.
check() {
  local name=$1 log start=$SECONDS
  shift
  log=$results/$suite-${name// /-}.log
  if "$@" >"$log" 2>&1; then
    suite_passed=$((suite_passed + 1))
    echo "$suite: $name: ok ($((SECONDS - start)) s)"
  else
    suite_failed=$((suite_failed + 1))
    echo "failure $suite: $name" >>"$suite_file"
    echo "$suite: $name: FAILED; its output:"
    sed 's/^/    /' "$log"
  fi
}

# end_suite: writes the counts; the exit status says whether all passed.
end_suite() {
  printf 'passed %d\nfailed %d\n' "$suite_passed" "$suite_failed" >>"$suite_file"
  ((suite_failed == 0))
}

# run_side_by_side FUNCTION COUNT FILE: in the background an exported function for each COUNT arguments of a file, which ends each with a
# zero; as many at a time as there are processors. Each call has to write a file LOG.status, which await_status LOG waits for; 99 stands in
# it if all is over before. Once a script, whose EXIT trap it takes.
run_side_by_side() {
  # In a process group of their own, which ends with this script, however that ends. Nothing reads the script's input.
  set -m
  xargs -r -0 -a "$3" -n "$2" -P "$(nproc)" bash -c "$1 \"\$@\"" "$1" </dev/null &
  set +m
  trap "kill -- -$! 2>/dev/null || true" EXIT
}

await_status() {
  while [[ ! -s $1.status ]]; do
    kill -0 $! 2>/dev/null || [[ -s $1.status ]] || echo "99 0" >"$1.status"
    sleep 0.1
  done
}
