#!/usr/bin/env bash
# Configures build/ if needed and builds in it.
#
#   scripts/build.sh                all tools and tests
#   scripts/build.sh TARGET...      only these, such as heddle-opt, heddle-tools, heddle-docs
#
# CMake options can be given once, as in: HEDDLE_CMAKE_OPTIONS="-DHEDDLE_CCACHE=OFF" scripts/build.sh
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; targets are names" ;;
esac

if [[ ! -f $build/build.ninja ]]; then
  echo "build: configuring $build"
  mkdir -p "$build"
  log=$build/configure.log
  # shellcheck disable=SC2086
  if ! cmake --preset dev -B "$build" ${HEDDLE_CMAKE_OPTIONS:-} >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$build/build.ninja"
    echo "build: configuring failed" >&2
    exit 1
  fi
fi
start=$SECONDS
NINJA_STATUS="[%f/%t %es] " ninja -C "$build" "$@"
echo "build: done in $((SECONDS - start)) s"
