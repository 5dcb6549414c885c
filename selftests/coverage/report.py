#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tests ran of module, library and model, as a table and TAP; lines that did not run in build/coverage.

usage: report.py GCOV-DIRECTORY...   where guests left what they counted of the module

A line of the module that no test ran must stand in the file `unvisited` beside this script, with its reason.
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOST = os.path.join(TOP, "build/host-coverage")
MODULE = os.path.join(TOP, "build/arm64/debug-coverage/module")
OUT = os.path.join(TOP, "build/coverage")
REASONS = os.path.join(TOP, "selftests/coverage/unvisited")
AREAS = (
    ("module", ("drivers/accel/ork/",)),
    ("library", ("lib/",)),
    ("model", ("model/npu/", "model/device/")),
)


def read_counts(gcov, directory, data, root, counts):
    """Adds how often each line ran. `root`: what stands before the names of sources."""
    done = subprocess.run([gcov, "--json-format", "--stdout", *data], cwd=directory, check=True, capture_output=True)
    for text in done.stdout.splitlines():
        for source in json.loads(text)["files"]:
            name = os.path.normpath(os.path.join(root, source["file"]))
            name = os.path.relpath(name, root)
            for line in source["lines"]:
                counts[name][line["line_number"]] += line["count"]


def read_host(counts):
    for directory, _, files in os.walk(HOST):
        data = [os.path.join(directory, name) for name in files if name.endswith(".gcda")]
        if data:
            read_counts("gcov", TOP, data, TOP, counts)


def read_guest(data, counts):
    """The counts of a guest, beside what the compiler noted of the module's graph."""
    with tempfile.TemporaryDirectory() as scratch:
        for notes in glob.glob(MODULE + "/drivers/accel/ork/**/*.gcno", recursive=True):
            shutil.copy(notes, scratch)
        names = []
        for path in glob.glob(os.path.join(data, "*.gcda")):
            names.append(shutil.copy(path, scratch))
        if not names:
            sys.exit(f"{data} has no counts of the module")
        read_counts("aarch64-linux-gnu-gcov", scratch, names, MODULE, counts)


def area_of(name):
    if "/tests/" in name or "/examples/" in name or not name.endswith(".c"):
        return None
    return next((area for area, places in AREAS if name.startswith(places)), None)


def read_reasons():
    """Of each listed line, in the words of the source, its reason."""
    reasons, reason, fresh = {}, "", False
    with open(REASONS, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("#"):
                reason = line[1:].strip() if fresh else reason + " " + line[1:].strip()
                fresh = False
            elif line:
                name, text = line.split(None, 1)
                reasons[name, text.strip()] = reason
                fresh = True
            else:
                fresh = True
    return reasons


def main():
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    read_host(counts)
    for data in sys.argv[1:]:
        read_guest(data, counts)

    totals = {area: [0, 0] for area, _ in AREAS}
    missed = {area: [] for area, _ in AREAS}
    for name in sorted(counts):
        area = area_of(name)
        if not area:
            continue
        with open(os.path.join(TOP, name), encoding="utf-8") as file:
            source = file.read().splitlines()
        for number, count in sorted(counts[name].items()):
            totals[area][0] += 1
            totals[area][1] += count > 0
            if not count:
                missed[area].append((name, number, source[number - 1].strip()))

    os.makedirs(OUT, exist_ok=True)
    for area, lines in missed.items():
        with open(os.path.join(OUT, area), "w", encoding="utf-8") as file:
            file.writelines(f"{name}:{number}: {text}\n" for name, number, text in lines)

    for area, (lines, ran) in totals.items():
        print(f"# coverage {area} {ran} of {lines} lines, {100 * ran / max(lines, 1):.1f} %")
    reasons = read_reasons()
    unknown = [line for line in missed["module"] if (line[0], line[2]) not in reasons]
    for name, number, text in unknown:
        print(f"# {name}:{number}: {text}")
    good = [all(lines for lines, _ in totals.values()), not unknown]
    print(f"{'ok' if good[0] else 'not ok'} 1 - counts of module, library and model are there")
    print(f"{'ok' if good[1] else 'not ok'} 2 - every line of the module ran, or it is known why not")
    print("1..2")
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())
