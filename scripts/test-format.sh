#!/usr/bin/env bash
# Checks that every C and C++ file is as clang-format writes it, and a few rules that it does not know.
#
#   scripts/test-format.sh          check
#   scripts/test-format.sh --fix    rewrite the files (also: ./heddle format)
set -euo pipefail
source "$(dirname "$0")/common.sh"

fix=0
case "${1:-}" in
  "") ;;
  --fix) fix=1 ;;
  -h | --help) print_help; exit 0 ;;
  *) fail_usage "unknown option '$1'; only --fix is known" ;;
esac

list_sources() { find dialects examples include lib test tools -name inputs -prune -o -type f \( "$@" \) -print | sort; }
mapfile -t sources < <(list_sources -name '*.cpp' -o -name '*.h' -o -name '*.c')
format=$(command -v clang-format-22 || command -v clang-format)

if ((fix)); then
  "$format" -i "${sources[@]}"
  echo "format: ${#sources[@]} files are formatted"
  exit 0
fi

clang_format() {
  "$format" --dry-run -Werror "${sources[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort | uniq -c |
    awk '{ print $2 ": " $1 " places differ from clang-format; run ./heddle format"; bad = 1 } END { exit bad }'
}

# Tabs, spaces at line ends, and files without a final newline in what clang-format does not look at.
whitespace() {
  local file bad=0
  while read -r file; do
    if grep -nP '\t| +$' "$file" | head -n 3 | sed "s|^|$file:|" | grep .; then bad=1; fi
    if [[ -s $file && -n $(tail -c 1 "$file") ]]; then
      echo "$file: no newline at the end"
      bad=1
    fi
  done < <(list_sources -name '*.td' -o -name CMakeLists.txt -o -name '*.mlir' -o -name '*.py'; find cmake scripts -type f; ls heddle)
  return $bad
}

shell_syntax() { for file in heddle .ci/run scripts/*.sh; do bash -n "$file" || return 1; done; }

begin_suite format
check clang-format clang_format
check whitespace whitespace
check "shell syntax" shell_syntax
end_suite
