#!/usr/bin/env bash
# Compiles what the stored results of test/goldens describe, once as tile kernels and once as the reference, runs it on every CPU variant of
# this machine, and compares each output.
#
#   scripts/test-goldens.sh                 everything, in f32
#   scripts/test-goldens.sh PATH...         files or model folders
#   HEDDLE_GOLDEN_OPTIONS="--dtype=bf16" scripts/test-goldens.sh
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give files or folders" ;;
esac

begin_suite goldens
if (($#)); then
  paths=("$@")
else
  # Folders with a config.json are models, which hold tensor files of their own.
  mapfile -t paths < <(find test/goldens -name config.json -printf '%h\n' -o -name '*.safetensors' -print | sort |
    while read -r path; do [[ -f $path && -f ${path%/*}/config.json ]] || echo "$path"; done)
fi

for path in "${paths[@]}"; do
  log=$results/goldens.log
  start=$SECONDS
  status=0
  : >"$log"
  for kernels in tile reference; do
    # shellcheck disable=SC2086
    "$bin/heddle-check-goldens" --kernels=$kernels ${HEDDLE_GOLDEN_OPTIONS:-} "$path" >>"$log" 2>&1 || status=$?
  done
  passed=$(grep -c ': ok' "$log") || true
  failed=$(grep -c ': FAILED' "$log") || true
  sed -n 's/^\(.*\): FAILED.*/failure goldens: \1/p' "$log" >>"$suite_file"
  if ((passed + failed == 0 || (status != 0 && failed == 0))); then
    failed=1
    echo "failure goldens: $path: exit status $status without a verdict" >>"$suite_file"
    tail -n 20 "$log" | sed 's/^/    /'
  fi
  grep ': FAILED' "$log" | sed 's/^/    /' || true
  suite_passed=$((suite_passed + passed)) suite_failed=$((suite_failed + failed))
  echo "goldens: $path: $passed passed$( ((failed == 0)) || echo ", $failed FAILED") ($((SECONDS - start)) s)"
done
end_suite
