"""Runs the commands of documentation pages and compares what they print with the excerpts that the pages show.

    python3 scripts/doc_excerpts.py [--build FOLDER] [--skip WORD]... PAGE.md...

A command is an indented block directly before a fenced block; the fenced block is an excerpt of what it prints. All commands run in the
repository's root with bash, in the order of the page. In an excerpt

    ...             on a line of its own stands for any number of lines, within a line for any text
    %12, %arg4      names of values, and #layout3, need not be those of the output, but equal names stand for equal names

and other lines follow each other as in the output, apart from white space. The first place that fits is taken.

With --skip, commands that have this word are not run, and named.
"""
import argparse
import pathlib
import re
import subprocess
import sys

NAME = re.compile(r"%[A-Za-z0-9_$.]+(?:#\d+)?|#layout\d*|\.\.\.|\s+")


def blocks(text):
    """(line, command, excerpt) for each command that has one."""
    lines, found, command, start = text.splitlines(), [], [], 0
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("    ") and line.strip():
            if not command:
                start = at + 1
            command.append(line[4:])
        elif line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            if command:
                found.append((start, "\n".join(command), lines[at + 1:end]))
            command, at = [], end
        elif line.strip():
            command = []
        at += 1
    return found


def pattern(line, bound, new):
    """A regular expression for a line of an excerpt; names that are not bound yet become groups, listed in `new`."""
    parts, last = [], 0
    for match in NAME.finditer(line):
        parts.append(re.escape(line[last:match.start()]))
        token, last = match.group(), match.end()
        if token == "...":
            parts.append(".*")
        elif token.isspace():
            parts.append(r"\s+")
        elif token in bound:
            parts.append(re.escape(bound[token]))
        elif token in new:
            parts.append(f"(?P=n{new.index(token)})")
        else:
            new.append(token)
            parts.append(f"(?P<n{len(new) - 1}>" + (r"#layout\d*" if token[0] == "#" else r"%[A-Za-z0-9_$.]+(?:#\d+)?") + r")(?![\w#])")
    return re.compile("".join(parts) + re.escape(line[last:]))


def match_run(run, output, at, bound):
    """The bindings if the lines of `run` are those of `output` from `at` on, else None."""
    bound = dict(bound)
    if at + len(run) > len(output):
        return None
    for line, actual in zip(run, output[at:]):
        new = []
        match = pattern(line.strip(), bound, new).fullmatch(actual.strip())
        if not match:
            return None
        bound.update({name: match.group(f"n{number}") for number, name in enumerate(new)})
    return bound


def compare(excerpt, output):
    """Nothing if the excerpt is one of the output, else the lines that were not found."""
    runs, run = [], []
    for line in excerpt + ["..."]:
        if line.strip() != "...":
            run.append(line)
        elif run:
            runs.append(run)
            run = []
    bound, at = {}, 0
    for run in runs:
        for start in range(at, len(output)):
            found = match_run(run, output, start, bound)
            if found is not None:
                bound, at = found, start + len(run)
                break
        else:
            # The longest beginning tells where a reader has to look.
            length = max((n for n in range(len(run)) for s in range(at, len(output)) if match_run(run[:n], output, s, bound) is not None), default=0)
            return run[length:length + 1] or run
    return None


def check(page, build, skipped):
    failures = 0
    examples = blocks(page.read_text())
    for line, command, excerpt in examples:
        if any(word in command for word in skipped):
            print(f"{page}:{line}: skipped: {command}")
            continue
        command = re.sub(r"\bbuild/", f"{build}/", command)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True)
        missing = compare(excerpt, done.stdout.splitlines())
        if done.returncode == 0 and missing is None:
            continue
        failures += 1
        print(f"{page}:{line}: {command}")
        if done.returncode:
            print(f"  exit status {done.returncode}: {done.stderr.strip()[-2000:]}")
        else:
            print("  this line of the excerpt is not in the output there:\n    " + "\n    ".join(missing))
    print(f"{page}: {len(examples) - failures} of {len(examples)} excerpts are true")
    return failures or not examples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder, for build/ in commands")
    parser.add_argument("--skip", metavar="WORD", action="append", default=[], help="commands with this word are not run")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    sys.exit(any([check(page, options.build, options.skip) for page in options.pages]))


if __name__ == "__main__":
    main()
