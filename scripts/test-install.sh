#!/usr/bin/env bash
# Installs what is built to a scratch folder, moves it, and uses it from there: C++ programs over find_package(Heddle), one of which builds a
# kernel of its own, a C program and a Python script that call a compiled module, the tools, and that nothing points back to the source or build folder.
#
#   scripts/test-install.sh
set -euo pipefail
source "$(dirname "$0")/common.sh"

expect_no_arguments "$@"

scratch=$build/test-install
prefix=$scratch/moved
rm -rf "$scratch"
mkdir -p "$scratch"

install_tree() {
  cmake --install "$build" --prefix "$scratch/installed" && mv "$scratch/installed" "$prefix"
}

no_build_paths() {
  ! grep -rIlE "$build|$root" "$prefix/lib/cmake" "$prefix/include"
}

headers_and_tools() {
  local file
  for file in bin/heddle-{opt,compile,run,translate,lsp-server,plugin.so} include/heddle/Runtime/heddle_runtime.h \
    include/heddle-c/Heddle.h include/heddle/Dialect/Attn/{Attn.h,AttnOps.h.inc,AttnOps.td} lib/cmake/Heddle/HeddleConfig.cmake; do
    [[ -e $prefix/$file ]] || { echo "missing: $file"; return 1; }
  done
  "$prefix/bin/heddle-opt" --version
}

configure_example() {
  cmake -S "examples/$1" -B "$scratch/$1" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22 \
    -DCMAKE_CXX_FLAGS_RELEASE=-O0 &&
    ninja -C "$scratch/$1"
}

# All C++ headers together in one source without the precompiled header.
headers_compile() {
  (cd "$prefix/include" && find heddle heddle-c -name '*.h' | sort |
    sed 's/.*/#include "&"/') >"$scratch/headers.cpp" &&
    clang++-22 -std=c++17 -fsyntax-only -Wall -Werror -I"$prefix/include" -isystem "$(llvm-config-22 --includedir)" \
      "$scratch/headers.cpp"
}

standalone() {
  configure_example standalone &&
    "$scratch/standalone/compile-gate" examples/standalone/gate.mlir "$scratch/gate.so" &&
    "$prefix/bin/heddle-run" "$scratch/gate.so" --print-entries
}

# The program prints the text that is stored beside it, and the installed compiler makes a module of it that computes its formula.
own_kernel() {
  configure_example own_kernel &&
    "$scratch/own_kernel/own-kernel" >"$scratch/own_kernel.mlir" &&
    diff "$scratch/own_kernel.mlir" examples/own_kernel/sigmoid-attention.mlir &&
    "$prefix/bin/heddle-compile" "$scratch/own_kernel.mlir" --target=cpu,sim-sm_80 -o "$scratch/own_kernel.so" &&
    python3 examples/own_kernel/check.py "$prefix/bin/heddle-run" "$scratch/own_kernel.so"
}

call_from_c() { configure_example call_from_c && "$scratch/call_from_c/call_gate"; }

call_with_ctypes() { python3 examples/call_with_ctypes.py "$scratch/call_from_c/libgate.so"; }

begin_suite install
check "install and move" install_tree
check "no paths of the build" no_build_paths
check "headers and tools" headers_and_tools
check "headers compile" headers_compile
check "examples standalone" standalone
check "examples own_kernel" own_kernel
check "examples call_from_c" call_from_c
check "examples call_with_ctypes" call_with_ctypes
end_suite
