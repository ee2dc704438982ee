#!/usr/bin/env bash
# Runs clang-tidy over Heddle's own sources. Slow (minutes), so it is not part of the tests.
#
#   scripts/tidy.sh                 all of lib, dialects and tools
#   scripts/tidy.sh FILE...         only these
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give files" ;;
esac
[[ -f $build/compile_commands.json ]] || scripts/build.sh heddle-tools
if (($#)); then files=("$@"); else mapfile -t files < <(find lib dialects tools -name '*.cpp' | sort); fi
# clang-tidy has no use for the precompiled header, which another version of clang may have written.
commands=$build/tidy
mkdir -p "$commands"
sed -E 's/ -Xclang -include-pch -Xclang [^ ]+//; s/ -Xclang -include -Xclang [^ ]+//; s/ -Winvalid-pch//; s/ -Xclang -fno-pch-timestamp//; s/"command": "[^"]*ccache /"command": "/' \
  "$build/compile_commands.json" >"$commands/compile_commands.json"
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 sh -c 'echo "tidy: $2"; clang-tidy-22 -p "$1" --quiet "$2" 2>/dev/null' sh "$commands"
