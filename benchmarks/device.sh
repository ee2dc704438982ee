#!/usr/bin/env bash
# Checks and times the modules of a folder on this machine's GPU, against PyTorch, in less than 5 minutes.
#
#   device.sh [FOLDER] [--json FILE] [--seconds N]
#
# FOLDER: what make_device_modules.sh wrote (default: where this script lies, else build/device). Needs a CUDA driver and python3 with PyTorch
# ($PYTHON, if set); nothing of Heddle or LLVM. Without a GPU it checks that the modules load and say so.
set -euo pipefail
case "${1:-}" in
  -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
folder=
if [[ -n ${1:-} && $1 != -* ]]; then
  folder=$1
  shift
elif [[ -e $here/device.json ]]; then
  folder=$here
else
  folder=$here/../build/device
fi
if [[ ! -e $folder/device.json ]]; then
  echo "device: there are no modules in $folder; make them by benchmarks/make_device_modules.sh" >&2
  exit 1
fi
PYTHONPATH=$here exec "${PYTHON:-python3}" "$here/device.py" "$folder" "$@"
