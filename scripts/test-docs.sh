#!/usr/bin/env bash
# Checks the documentation: the generated pages exist and are those of docs/, links between pages lead somewhere, the README's commands are known, commands of pages
# print what the pages show, and the demo ends well.
#
#   scripts/test-docs.sh
set -euo pipefail
source "$(dirname "$0")/common.sh"

expect_no_arguments "$@"

generated() {
  local page
  for page in attn-dialect tile-dialect tile-nv-dialect attn-to-linalg-passes linalg-to-vector-passes transforms-passes; do
    [[ -s $build/docs/$page.md ]] || { echo "missing: $build/docs/$page.md"; return 1; }
  done
  # Every op has its text, and every pass too.
  ! grep -n -A1 '^### `' "$build"/docs/*.md | grep -i 'undocumented'
}

links() {
  local page link bad=0
  while IFS=: read -r page link; do
    [[ $link == http* || $link == '#'* ]] && continue
    [[ -e $(dirname "$page")/${link%%#*} ]] || { echo "$page: link to $link leads nowhere"; bad=1; }
  done < <(grep -oHP '\]\(\K[^) ]+' README.md CONTRIBUTING.md docs/*.md dialects/*/README.md benchmarks/README.md)
  return $bad
}

readme_commands() {
  local word
  for word in $(grep -ohP '^ *\./heddle \K[a-z-]+' README.md CONTRIBUTING.md | sort -u); do
    ./heddle --help | grep -q "^  $word" || { echo "README or CONTRIBUTING names ./heddle $word"; return 1; }
  done
}

# The tests that test/edge-cases.md names: "Suite.Test", or ".Test" of the suite before it.
edge_cases() {
  local suite= word bad=0
  while read -r word; do
    [[ $word == .* ]] || suite=${word%%.*}
    grep -qE "^TEST(_P|_F)?\($suite, ${word#*.}\)" test/unit/*/*.cpp || { echo "test/edge-cases.md: there is no test $suite.${word#*.}"; bad=1; }
  done < <(grep '^|' test/edge-cases.md | grep -oE '([A-Z][A-Za-z]+)?\.[A-Z][A-Za-z0-9]+')
  return $bad
}

excerpts() { python3 scripts/doc_excerpts.py --build "${build#"$root"/}" "$@"; }

# NumPy for the tutorial, in a virtual environment.
numpy() {
  local venv=$build/venv-numpy
  "$venv/bin/python" -c 'import numpy' 2>/dev/null ||
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 numpy; } >"$results/venv-numpy.log" 2>&1
}

# The folder of a python3 with PyTorch, which is too large to be installed for a test: that of the path, or of an environment in the build folder.
torch() {
  local python
  for python in "$(command -v python3)" "$build"/venv-*/bin/python3; do
    if "$python" -c 'import torch' 2>/dev/null; then dirname "$python"; return; fi
  done
  return 1
}

# Logits are compared by the demo itself; a table that is read wrongly has no figures in its last line.
demo() {
  scripts/demo.sh >"$results/demo.txt" || { cat "$results/demo.txt"; return 1; }
  grep -E '^    total +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]+ +[0-9]+ +[1-9][0-9]+ +0$' "$results/demo.txt" && grep -E '^    attention +sm_80 ' "$results/demo.txt"
}

begin_suite docs
check "generated pages" generated
check "language pages" scripts/update-docs.sh --check
check links links
check "commands in README" readme_commands
check "tests of edge cases" edge_cases
for page in architecture add-a-kernel; do
  check "commands in $page" excerpts "docs/$page.md"
done
tutorial=(docs/tutorial.md)
if ! numpy; then
  echo "skipped docs: commands in tutorial, NumPy: it can't be installed into $build/venv-numpy" >>"$suite_file"
  tutorial=(--skip venv-numpy "${tutorial[@]}")
fi
if folder=$(torch); then
  PATH=$folder:$PATH check "commands in tutorial" excerpts "${tutorial[@]}"
else
  echo "skipped docs: commands in tutorial, PyTorch: neither python3 nor $build/venv-*/bin/python3 can import torch" >>"$suite_file"
  check "commands in tutorial" excerpts --skip torch "${tutorial[@]}"
fi
check "demo" demo
end_suite
