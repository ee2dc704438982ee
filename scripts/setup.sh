#!/usr/bin/env bash
# Installs what the build and the tests need: Debian packages, nothing else; python3 is for the tests only. Safe to run again: a
# second run only looks.
#
#   scripts/setup.sh            install what is missing (asks sudo if not root)
#   scripts/setup.sh --check    only say what is missing; exit 1 if anything is
set -euo pipefail

packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libclang-rt-22-dev
  clang-format-22 clang-tidy-22 liblld-22-dev zlib1g-dev libzstd-dev
  cmake ninja-build ccache
  libboost-context-dev libgtest-dev libgmock-dev libbenchmark-dev nlohmann-json3-dev libdlpack-dev
  python3 python3-venv git
)

check_only=0
case "${1:-}" in
  "") ;;
  --check) check_only=1 ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "setup: unknown option '$1'; only --check is known" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done

if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi
echo "setup: missing: ${missing[*]}"
((check_only)) && exit 1

run=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "setup: may not install packages here; as root run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  run=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
echo "setup: updating the package lists"
"${run[@]}" apt-get update -qq
echo "setup: installing ${#missing[@]} packages"
"${run[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
echo "setup: done"
