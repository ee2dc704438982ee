#!/usr/bin/env bash
# Compiles attention in all variants and head dimensions for all chips, and names kernels that spill, use a stack or have a warning of ptxas'.
# Slow (half an hour), so it is not part of the tests, which take some of these kernels (test/Target/attention-occupancy*.test).
#
#   scripts/sweep-occupancy.sh                    all types and variants
#   scripts/sweep-occupancy.sh TYPE [VARIANT...]  only these, as in: f32 causal+bias (parts are in test/Target/Inputs/attention_heads.py)
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give a type and variants" ;;
esac
types=(bf16 f16 f32)
variants=(causal full band causal+window causal+global causal+softcap causal+bias causal+mask causal+alibi causal+sinks causal+statistics causal+lengths
  causal+pages causal+score bias+mask causal+score+bias causal+window+softcap+lse+sinks causal+window+alibi+bias+mask causal+window+mask+lengths+lse+sinks)
dims=(8 16 36 40 48 56 64 72 80 96 112 128 160 192 224 256 512 192x128 576x512)
if (($#)); then types=("$1"); shift; fi
if (($#)); then variants=("$@"); fi

inputs=test/Target/Inputs
chips=(sm_80 sm_86 sm_89 sm_90)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
for type in "${types[@]}"; do
  for variant in "${variants[@]}"; do
    python3 $inputs/attention_heads.py "$type" "$variant" "${dims[@]}" >"$folder/in.mlir"
    if ! "$build/bin/heddle-compile" "$folder/in.mlir" "--target=$(IFS=,; echo "${chips[*]}")" --print-kernels=json >"$folder/out.json" 2>"$folder/log"; then
      echo "$type $variant: not compiled: $(grep -m 1 'error:' "$folder/log")"
      failed=1
    elif ! found=$(python3 $inputs/check_occupancy.py "$folder/out.json" any "${chips[@]}"); then
      sed "s/^/$type $variant: /" <<<"$found"
      failed=1
    else
      echo "$type $variant: no spills"
    fi
  done
done
exit $failed
