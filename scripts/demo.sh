#!/usr/bin/env bash
# Compiles a small Llama checkpoint (3 layers, bf16 weights) to a module for CPUs, for GPUs (sm_80) and for the simulator of sm_80, repeats a
# stored run on the CPU and in the simulator - a prompt, then 8 decode steps - and prints a report. Fails if logits are not those that
# are stored beside the checkpoint. The simulator runs the very kernels that a GPU would.
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
expected=$checkpoint/expected.safetensors

scripts/build.sh heddle-compile heddle-run

name=$(basename "$checkpoint")
out=$build/demo
module=$out/$name.so
mkdir -p "$out"

# shape NAME: extents of a stored tensor, as "2,27".
shape() { head -c 65536 "$expected" | grep -aoP "\"$1\":\{[^}]*\"shape\":\[\K[0-9,]*" | head -n 1; }
IFS=, read -r batch capacity < <(shape tokens)
IFS=, read -r _ prompt _ < <(shape logits_prefill)

echo "demo: compiling $checkpoint"
begin=$(date +%s%N)
"$bin/heddle-compile" "$checkpoint" --target=cpu,sm_80,sim-sm_80 -o "$module" \
  --print-kernels --at "B=$batch,L=$prompt,C=$capacity" >"$out/kernels.txt" 2>"$out/compile.txt" ||
  { cat "$out/compile.txt" >&2; exit 1; }
end=$(date +%s%N)
"$bin/heddle-compile" "$checkpoint" --emit=attn -o "$out/$name.mlir"
status=0
for target in cpu sim-sm_80; do
  echo "demo: running on $target"
  report=()
  [[ $target == cpu ]] || report=(--sim-report)
  "$bin/heddle-run" "$module" --target=$target --weights "$checkpoint" --replay "$expected" "${report[@]}" \
    >"$out/$target.txt" 2>"$out/$target.log" || { status=$?; cat "$out/$target.log" >&2; }
done

# field NAME: a value of the model's description in the IR.
field() { sed -n 's/^module attributes.*[{ ]'"$1"' = "\{0,1\}\([^",} ]*\).*/\1/p' "$out/$name.mlir"; }

# run TARGET: its lines of the report.
run() {
  local text=$out/$1.txt
  echo "$2 prefill $(sed -n 's/^prefill: //p' "$text"); decode $(sed -n 's/^decode: //p' "$text")"
  sed -n 's/^verify \([^:]*\): \(.*\), largest.*/'"$2"' \1: \2/p' "$text"
  sed -n 's/^greedy tokens of \(.*\)/'"$2"' greedy tokens of \1/p' "$text"
}

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
echo "module   ${module#"$root"/}, $(($(stat -c %s "$module") / 1024)) KiB, for cpu, sm_80 and sim-sm_80, compiled in" \
  "$(((end - begin) / 1000000)) ms"
run cpu "cpu     "
run sim-sm_80 "sim     "

echo
echo "What the kernels of sm_80 do in a prefill and in one step of decode, and what became of them:"
grep -h 'ptxas' "$out/compile.txt" | sed 's/^.*: \(remark\|warning\): */  /' || true
awk '/^target / { inside = $2 == "sm_80"; next } inside && NF { print "  " $0 }' "$out/kernels.txt"

echo
echo "What they did in the simulator, over the prefill and all steps of decode:"
# From lines "kernel 'NAME': launches N, CTAs N of N threads, ..., defects N" and the line "total" of the table behind each.
awk '
  /^kernel \x27/ { split($0, quoted, "\x27"); name = quoted[2]; gsub(/,/, ""); launches = $4; ctas = $6; defects = $NF; columns = 0 }
  /^  operation / {
    # Columns are right-aligned, all but the first: a number belongs to the heading that ends where it does.
    rest = $0; at = 0; sub(/^  operation/, "           ", rest)
    while (match(rest, /[a-z]+( [a-z]+)*/)) {
      at += RSTART + RLENGTH - 1
      heading[at] = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  /^  total / {
    delete value
    for (end in heading) { text = substr($0, 1, end); sub(/.* /, "", text); value[heading[end]] = text == "-" ? 0 : text }
    delete heading
    printf "%s %s %s %s %s %s %s %s %s\n", name, launches, ctas, value["global bytes"], value["used"], value["wavefronts"],
      value["conflicts"], value["mma flops"], defects
  }' "$out/sim-sm_80.txt" | awk '
  BEGIN {
    format = "    %-12s  %8s  %4s  %12s  %12s  %17s  %14s  %11s  %7s\n"
    printf format, "kernel", "launches", "CTAs", "global bytes", "sectors used", "shared wavefronts", "bank conflicts", "matrix FLOP",
      "defects"
  }
  {
    printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9
    launches += $2; ctas += $3; bytes += $4; waves += $6; conflicts += $7; flops += $8; defects += $9
  }
  END { printf format, "total", launches, ctas, bytes, "", waves, conflicts, flops, defects }'
echo
if ((status)); then
  echo "demo: FAILED: the logits differ from the stored ones"
  exit 1
fi
echo "demo: the logits are the stored ones, on the CPU and in the simulator"
