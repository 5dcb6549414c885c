#!/bin/bash
# SPDX-License-Identifier: MIT
# `make run`: trains on the emulated board, adds what only the board knows, the report of its cache, to what
# the tool printed and to build/run.json, and holds the figures against their bounds.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/run
rm -rf "$out"
"$top/selftests/vm/vm.sh" --out "$out" --timeout 240 -- ork-train --json /out/run.json

python3 - "$out/npu-log" "$out/run.json" "$top/build/run.json" <<'END'
import json, sys

log, figures, merged = sys.argv[1:]
with open(log) as f:
    report = dict(line.split(None, 1) for line in f if not line.startswith("stale core"))
stale = int(report["stale_reads"])
blocks = [(k.split(".")[1], int(v)) for k, v in report.items() if k.startswith("stale_reads.")]

print("\ncache of the board (%s)" % report["cache"].strip())
print("  stale reads     %d  (%s)" % (stale, ", ".join("%s %d" % b for b in blocks)))
for key in "results_lost", "lines_cleaned", "lines_invalidated", "lines_evicted":
    print("  %-15s %s" % (key.replace("_", " "), report[key].strip()))

with open(figures) as f:
    run = json.load(f)
run["stale_reads"] = stale
with open(merged, "w") as f:
    json.dump(run, f, indent=1)
    f.write("\n")

def check(good, text):
    print("%s %s" % ("ok" if good else "not ok", text))
    return good

print()
maintained, written = run["bytes_maintained_per_call"], run["bytes_written_per_call"]
good = [
    check(run["accuracy"] >= 0.95, "accuracy %.4f, at least 0.95" % run["accuracy"]),
    check(maintained <= 1.05 * written,
          "bytes maintained per call %.0f, at most 1.05 of the %.0f written" % (maintained, written)),
    check(run["ioctls_per_call"] == 2, "ioctls per call %s, 2 wanted" % run["ioctls_per_call"]),
    check(run["interrupts"] == run["chains"] and all(run["chains"]),
          "interrupts %s, one for each of %s chains" % (run["interrupts"], run["chains"])),
    check(stale == 0, "stale reads %d, 0 wanted" % stale),
]
print("\nthe figures are in", merged)
sys.exit(not all(good))
END
