#!/usr/bin/env bash
# Compiles a small Llama checkpoint (3 layers, bf16 weights) to a module, repeats a stored run with it - a prompt, then 8 decode
# steps - and prints a report. Fails if the logits are not those that are stored beside the checkpoint.
#
#   scripts/demo.sh                 the checkpoint of test/goldens/models/llama
#   scripts/demo.sh FOLDER          another one with an expected.safetensors beside it, as heddle-run --replay reads
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give a checkpoint folder" ;;
esac
checkpoint=${1:-test/goldens/models/llama}
[[ -f $checkpoint/config.json ]] || fail_usage "'$checkpoint' is not a checkpoint folder"

scripts/build.sh heddle-compile heddle-run

name=$(basename "$checkpoint")
out=$build/demo
mkdir -p "$out"
echo "demo: compiling $checkpoint"
begin=$(date +%s%N)
"$bin/heddle-compile" "$checkpoint" -o "$out/$name.so"
end=$(date +%s%N)
"$bin/heddle-compile" "$checkpoint" --emit=attn -o "$out/$name.mlir"
echo "demo: running"
status=0
"$bin/heddle-run" "$out/$name.so" --weights "$checkpoint" --replay "$checkpoint/expected.safetensors" >"$out/run.txt" || status=$?

# field NAME: a value of the model's description in the IR.
field() { sed -n 's/^module attributes.*[{ ]'"$1"' = "\{0,1\}\([^",} ]*\).*/\1/p' "$out/$name.mlir"; }

echo
echo "model    $(field model_type), $(field layers) layers, hidden size $(field hidden_size), $(field heads) query heads over" \
  "$(field kv_heads) key heads, vocabulary $(field vocab_size), $(field parameters) parameters"
# One result or two: "%3 = attn.rope" and "%4:2 = attn.kv_append".
echo "ops      of prefill: $(awk '
  /func\.func @/ { inside = /@prefill/ }
  inside && match($0, /^ *(%[^=]*= )?(attn|linalg)\.[a-z_.]+/) {
    op = substr($0, RSTART, RLENGTH)
    sub(/.*[ =]/, "", op)
    if (op !~ /^linalg\.(yield|fill|index)/) count[op]++
  }
  END { for (op in count) print op, count[op] }' "$out/$name.mlir" | sort |
  awk '{ printf "%s%d %s", (NR > 1 ? ", " : ""), $2, $1 }')"
echo "module   ${out#"$root"/}/$name.so, $(($(stat -c %s "$out/$name.so") / 1024)) KiB, compiled in $(((end - begin) / 1000000)) ms"
echo "run      prefill $(sed -n 's/^prefill: //p' "$out/run.txt"); decode $(sed -n 's/^decode: //p' "$out/run.txt")"
sed -n 's/^verify \([^:]*\): \(.*\), largest.*/error    \1: \2/p' "$out/run.txt"
sed -n 's/^greedy tokens of \(.*\)/greedy   \1/p' "$out/run.txt"
if ((status)); then
  echo "demo: FAILED: the logits differ from the stored ones"
  exit 1
fi
echo "demo: the logits are the stored ones"
