#!/usr/bin/env bash
# Compiles what the stored results of test/goldens describe, runs it and compares each output: as tile kernels and as the reference, in f32 on
# every CPU variant of this machine, in f16 on one and in bf16 on those that are made for it, and in the simulator of sm_80 in all three. Files are worked on side by side.
#
#   scripts/test-goldens.sh                 everything
#   scripts/test-goldens.sh PATH...         files or model folders
#   HEDDLE_GOLDEN_OPTIONS="--dtype=bf16" scripts/test-goldens.sh      each way with these options, instead of the types above
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help) print_help; exit 0 ;;
  -*) fail_usage "unknown option '$1'; give files or folders" ;;
esac

begin_suite goldens
if (($#)); then
  paths=("$@")
else
  # Folders with a config.json are models, which hold tensor files of their own.
  mapfile -t paths < <(find test/goldens -name config.json -printf '%h\n' -o -name '*.safetensors' -print | sort |
    while read -r path; do [[ -f $path && -f ${path%/*}/config.json ]] || echo "$path"; done)
fi
ways=("--kernels=tile" "--kernels=reference" "--target=sim-sm_80")
if [[ -n ${HEDDLE_GOLDEN_OPTIONS:-} ]]; then
  ways=("${ways[@]/%/ $HEDDLE_GOLDEN_OPTIONS}")
else
  for type in f16 bf16; do
    variants=avx2
    [[ $type == f16 ]] || variants+=,avx512bf16,avx512amx-emulated
    cpu="--cpu-variants=$variants --dtype=$type"
    ways+=("--kernels=tile $cpu" "--kernels=reference $cpu" "--target=sim-sm_80 --dtype=$type")
  done
fi

skipped=()
logs=$results/goldens
rm -rf "$logs"
mkdir -p "$logs"

# run_way PATH NUMBER OPTIONS: one file one way. The exit status goes into a file beside the log.
run_way() {
  local log=$logs/${1//\//_}.$2 status=0 start=$SECONDS
  # shellcheck disable=SC2086
  "$bin/heddle-check-goldens" $3 "$1" >"$log" 2>&1 || status=$?
  echo "$status $((SECONDS - start))" >"$log.status"
}
export -f run_way
export logs bin

# takes PATH OPTIONS: whether a file has code for a target. Forms of attention other than pages, linear attention and experts have none for GPUs.
takes() {
  [[ $2 == *--target=sim-* ]] || return 0
  case $1 in
    */mla_*) return 0 ;;
    */op_chunk.* | */op_index.* | */op_local_global.* | */op_pattern.* | */op_ragged.*) return 1 ;;
    *goldens/linear-latent/* | */qwen3_next_dense | */gpt_oss_pair.safetensors) return 1 ;;
    */models/deepseek_v3 | */models/gpt_oss | */models/qwen3_moe) return 1 ;;
  esac
}

# Results are shown in the order of the files.
for path in "${paths[@]}"; do
  for number in "${!ways[@]}"; do
    if takes "$path" "${ways[$number]}"; then printf '%s\0%s\0%s\0' "$path" "$number" "${ways[$number]}"; fi
  done
done >"$logs/jobs"
run_side_by_side run_way 3 "$logs/jobs"

for path in "${paths[@]}"; do
  total_passed=0 total_failed=0 seconds=0
  for number in "${!ways[@]}"; do
    way=${ways[$number]} log=$logs/${path//\//_}.$number
    takes "$path" "$way" || { skipped+=("$path $way"); continue; }
    await_status "$log"
    read -r status taken <"$log.status"
    passed=$(grep -c ': ok' "$log") || true
    failed=$(grep -c ': FAILED' "$log") || true
    sed -n "s/^\(.*\): FAILED.*/failure goldens: \1 ($way)/p" "$log" >>"$suite_file"
    if ((passed + failed == 0 || (status != 0 && failed == 0))); then
      failed=1
      echo "failure goldens: $path: exit status $status without a verdict ($way)" >>"$suite_file"
      tail -n 20 "$log" | sed 's/^/    /'
    fi
    grep ': FAILED' "$log" | sed "s/^/    $way: /" || true
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed)) seconds=$((seconds + taken))
  done
  suite_passed=$((suite_passed + total_passed)) suite_failed=$((suite_failed + total_failed))
  echo "goldens: $path: $total_passed passed$( ((total_failed == 0)) || echo ", $total_failed FAILED") ($seconds s)"
done
wait
((${#skipped[@]} == 0)) || echo "goldens: not checked in the simulator, which has no kernels for them: ${#skipped[@]} runs, of $(printf '%s\n' "${skipped[@]%% *}" | sort -u | xargs -n 1 basename -s .safetensors | paste -sd ' ')"
end_suite
