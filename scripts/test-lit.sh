#!/usr/bin/env bash
# Runs the lit suite with the tools that are built.
#
#   scripts/test-lit.sh             all of test/
#   scripts/test-lit.sh PATH...     files or folders below test/, such as test/Dialect
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give files or folders below test/" ;;
esac

begin_suite lit
# Tests that read machine code are skipped without.
scripts/setup-cuda-tools.sh || true
paths=()
for path in "${@:-test}"; do
  path=$(realpath --relative-to="$root" "$path")
  [[ $path == test || $path == test/* ]] || fail_usage "'$path' is not below test/"
  paths+=("$build/$path")
done
report=$results/lit.json
rm -f "$report"
# lit's own verdict is read from the report; without one it has failed before any test.
"$(<"$build/lit.txt")" --succinct --verbose --order=smart -o "$report" "${paths[@]}" || true
[[ -f $report ]] || { echo "failure lit: no report" >>"$suite_file"; suite_failed=1; end_suite; exit 1; }

python3 - "$report" >>"$suite_file" <<'PYTHON'
import json
import sys

count = {"passed": 0, "failed": 0}
for test in json.load(open(sys.argv[1]))["tests"]:
    code, name = test["code"], test["name"]
    if code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
        lines = [line for line in test["output"].splitlines() if line.strip()]
        print(f"skipped {name}: {' '.join(lines) or code.lower()}")
    elif code in ("PASS", "XFAIL", "FLAKYPASS"):
        count["passed"] += 1
    else:
        count["failed"] += 1
        print(f"failure {name}: {code}")
for verdict, number in count.items():
    print(verdict, number)
PYTHON
! grep -q '^failure' "$suite_file"
