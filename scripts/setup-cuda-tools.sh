#!/usr/bin/env bash
# Installs the tools of NVIDIA that tests read machine code with into a virtual environment, build/venv-cuda, from PyPI: nvdisasm and
# cuobjdump, and ptxas with fatbinary where there is no CUDA toolkit. Tests that need a tool which can't be had are skipped by name.
#
#   scripts/setup-cuda-tools.sh     install what is missing; a second run only looks
set -euo pipefail
source "$(dirname "$0")/common.sh"
expect_no_arguments "$@"

venv=$build/venv-cuda
PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
for folder in "$venv"/lib/python3*/site-packages/nvidia/cu*/bin; do PATH=$PATH:$folder; done

packages=()
command -v nvdisasm >/dev/null || packages+=(nvidia-cuda-nvdisasm)
command -v cuobjdump >/dev/null || packages+=(nvidia-cuda-cuobjdump)
command -v ptxas >/dev/null && command -v fatbinary >/dev/null || packages+=(nvidia-cuda-nvcc)
((${#packages[@]})) || exit 0

# Without a network the first try takes a while; it is not repeated.
failed=$build/venv-cuda.failed
if [[ -f $failed ]]; then
  echo "setup-cuda-tools: ${packages[*]} could not be installed before; remove $failed to try again" >&2
  exit 1
fi
echo "setup-cuda-tools: installing ${packages[*]} into $venv"
mkdir -p "$build"
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 "${packages[@]}"; }; then
  touch "$failed"
  echo "setup-cuda-tools: ${packages[*]} can't be installed" >&2
  exit 1
fi
