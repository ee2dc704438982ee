# Configuration of the lit suite: every .mlir and .test file below this folder.
#
# Tools are found by name: Heddle's in build/bin, then those of LLVM 22 (FileCheck, not, split-file, mlir-opt, ...).
# %heddle_plugin is the plugin's path, %goldens the folder of stored data.

import os
import platform

import lit.formats

config.name = "Heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["inputs", "Inputs", "goldens", "unit", "fuzz", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.heddle_build_dir, "test")

path = [config.heddle_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.substitutions.append(("%heddle_plugin", os.path.join(config.heddle_tools_dir, "heddle-plugin.so")))
config.substitutions.append(("%goldens", os.path.join(config.test_source_root, "goldens")))

# What the processor can run, for tests that execute code: avx2, avx512.
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
