#!/usr/bin/env bash
# Builds the folder that benchmarks/device.sh measures on a machine with a GPU.
#
#   benchmarks/make_device_modules.sh [FOLDER] [--target=LIST]
#
# FOLDER: where to (default build/device; replaced if it exists). LIST: chips to hold code for (default sm_80,sm_86,sm_89,sm_90). Copy the folder to
# the other machine, which needs Python with PyTorch, a CUDA driver, and glibc 2.34 (2.36 for the model's program), nothing of Heddle or LLVM, and run
# its device.sh.
set -euo pipefail
case "${1:-}" in
  -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=$root/build/bin/heddle-compile
folder=
targets=sm_80,sm_86,sm_89,sm_90
for argument; do
  case "$argument" in
    --target=*) targets=${argument#--target=} ;;
    -*) echo "make_device_modules: unknown option $argument (see --help)" >&2; exit 2 ;;
    "") echo "make_device_modules: the folder's name is empty" >&2; exit 2 ;;
    *)
      [[ -z $folder ]] || { echo "make_device_modules: takes one folder, not $folder and $argument" >&2; exit 2; }
      folder=$argument
      ;;
  esac
done
target_folder=$(realpath -m -- "${folder:-$root/build/device}")
[[ -x $compiler ]] || { echo "make_device_modules: build first: ./heddle build" >&2; exit 1; }
if [[ -e $target_folder && ! -e $target_folder/device.json && -n $(ls -A "$target_folder") ]]; then
  echo "make_device_modules: $target_folder is not a folder of device modules; give another" >&2
  exit 1
fi
# Beside the old one until all is there.
mkdir -p "$(dirname "$target_folder")"
folder=$(mktemp -d "$target_folder.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/modules"

# attention TYPE QUERY_HEADS KEY_HEADS HEAD_DIM: one module with the entries causal and full.
attention() {
  local type=$1 heads=$2 keys=$3 dim=$4 name=attention_$1_d$4
  local q="tensor<?x?x${heads}x${dim}x${type}>" k="tensor<?x?x${keys}x${dim}x${type}>" entry flag
  for entry in causal full; do
    [[ $entry == causal ]] && flag="{causal} " || flag=
    echo "func.func @$entry(%q: $q {heddle.name = \"q\", heddle.dims = [\"B\", \"L\", \"\", \"\"]},"
    echo "    %k: $k {heddle.name = \"k\", heddle.dims = [\"B\", \"S\", \"\", \"\"]},"
    echo "    %v: $k {heddle.name = \"v\", heddle.dims = [\"B\", \"S\", \"\", \"\"]}) -> ($q {heddle.name = \"o\"}) {"
    echo "  %o = attn.attention %q, %k, %v $flag: ($q, $k, $k) -> $q"
    echo "  return %o : $q"
    echo "}"
  done >"$folder/$name.mlir"
  "$compiler" "$folder/$name.mlir" "--target=$targets" -o "$folder/modules/$name.so"
  rm "$folder/modules/$name.h" "$folder/$name.mlir"
  entries+=("{\"file\": \"modules/$name.so\", \"type\": \"$type\", \"heads\": $heads, \"key_heads\": $keys, \"head_dim\": $dim}")
}

entries=()
for type in f16 bf16; do
  attention $type 32 32 64
  attention $type 32 8 128
  attention $type 16 8 256
done
# A small model with all other kernels: a program that repeats a stored run, its weights and the logits.
model=$root/test/goldens/models/llama
mkdir "$folder/llama"
"$compiler" "$model" "--target=$targets" --emit=exe -o "$folder/llama/llama"
cp "$model/model.safetensors" "$model/expected.safetensors" "$folder/llama"
{
  echo '{"attention": ['
  (IFS=,; echo "${entries[*]}" | sed 's/},{/},\n{/g')
  echo '], "models": ['
  echo "{\"file\": \"llama/llama\", \"weights\": \"llama/model.safetensors\", \"expected\": \"llama/expected.safetensors\", \"targets\": [\"${targets//,/\", \"}\"]}"
  echo ']}'
} >"$folder/device.json"
cp "$root/benchmarks/device.sh" "$root/benchmarks/device.py" "$root/benchmarks/heddle_module.py" "$folder"
rm -rf "$target_folder"
chmod "$(printf '%o' $((0777 & ~$(umask))))" "$folder"
mv "$folder" "$target_folder"
echo "make_device_modules: $(du -sh "$target_folder" | cut -f1) in $target_folder"
