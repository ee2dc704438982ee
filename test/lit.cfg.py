# Configuration of the lit suite: every .mlir and .test file below this folder.
#
# Tools are found by name: Heddle's in build/bin, then those of LLVM 22 (FileCheck, not, split-file, mlir-opt, ...).
# %heddle_plugin is the plugin's path, %goldens the folder of stored data, %fake_cuda the one of a CUDA driver that only takes notes.

import glob
import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "Heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["inputs", "Inputs", "goldens", "unit", "fuzz", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.heddle_build_dir, "test")

# NVIDIA's tools: those of PATH, of the CUDA toolkit, and those that scripts/setup-cuda-tools.sh installs.
cuda = glob.glob(os.path.join(config.heddle_build_dir, "venv-cuda/lib/python3*/site-packages/nvidia/cu*/bin"))
toolkits = [os.environ.get(name) for name in ("CUDA_PATH", "CUDA_HOME")] + ["/usr/local/cuda"]
cuda = [os.path.join(toolkit, "bin") for toolkit in toolkits if toolkit] + cuda

path = [config.heddle_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")] + cuda
config.environment["PATH"] = os.pathsep.join(path)
for tool in ("ptxas", "fatbinary", "nvdisasm", "cuobjdump"):
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(tool)
config.substitutions.append(("%heddle_plugin", os.path.join(config.heddle_tools_dir, "heddle-plugin.so")))
config.substitutions.append(("%fake_cuda", os.path.join(config.heddle_build_dir, "fake-cuda")))
config.substitutions.append(("%goldens", os.path.join(config.test_source_root, "goldens")))

# What the processor can run, for tests that execute code: avx2, avx512, avx512bf16, avx512amx.
config.available_features.add(platform.machine().replace("-", "_"))
try:
    with open("/proc/cpuinfo") as cpuinfo:
        flags = set(next((line for line in cpuinfo if line.startswith("flags")), "").split())
except OSError:
    flags = set()
if {"avx2", "fma", "f16c", "bmi2"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= flags:
    config.available_features.add("avx512")
    if "avx512_bf16" in flags:
        config.available_features.add("avx512bf16")
        if {"amx_tile", "amx_bf16"} <= flags:
            config.available_features.add("avx512amx")

# Mounts of one's own, for tests that need a small disk.
mount = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
if mount.returncode == 0:
    config.available_features.add("user-mounts")
