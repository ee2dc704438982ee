"""Compiles MLIR text with heddle-compile and binds its entries to tensors."""
import subprocess

from heddle_module import Module

from .paths import BENCH, ROOT

_modules = {}


def compile_module(name, source, options=()):
    """The module of `source`, MLIR text or a checkpoint folder; compiled once in a run."""
    if name not in _modules:
        if isinstance(source, str):
            (BENCH / f"{name}.mlir").write_text(source)
            source = BENCH / f"{name}.mlir"
        subprocess.run([ROOT / "build/bin/heddle-compile", source, *options, "-o", BENCH / f"{name}.so"], check=True)
        _modules[name] = Module(BENCH / f"{name}.so")
    return _modules[name]
