#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-teflon`: what an inference costs through mainline's rocket and through ork's device of that interface,
# for the same unmodified client (selftests/teflon), on one emulated board in one run. Each figure of a client is the
# difference between a run with many inferences and one with few: what comes before and after them is in neither.
# Holds ork's figures against rocket's, and writes all to build/bench-teflon.json.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/bench-teflon
cache=${ORK_CACHE:-$HOME/.cache/ork}
if [ ! -e "$cache/env-teflon.mk" ]; then
	echo "bench-teflon: no client: $(sed -n '1s/^setup: //p' "$cache/teflon-missing" 2>/dev/null)" >&2
	exit 1
fi
rm -rf "$out"
"$top/selftests/vm/vm.sh" --kernel bench --module none --icount --smp 1 --memory 2500 --out "$out" \
	--overlay "$top/build/arm64/teflon.cpio" --timeout 1800 -- \
	bench-drivers /out bench-inference rocket "ork rocket_uapi=1" >"$out.log" 2>&1 || {
	status=$?
	cat "$out.log" >&2
	exit $status
}

python3 - "$out/ork.json" "$out/rocket.json" "$top/build/bench-teflon.json" <<'END_OF_TABLE'
import json, sys

ork, rocket = (json.load(open(path)) for path in sys.argv[1:3])
results = []

def line(what, mine, theirs, bound="", good=None):
    """One figure of both drivers; those that only inform have no bound."""
    verdict = "" if good is None else "ok" if good else "not ok"
    print("%-7s%-62s%12s%12s  %s" % (verdict, what, "%.10g" % round(mine, 2), "%.10g" % round(theirs, 2), bound))
    results.append({"what": what, "ork": mine, "rocket": theirs, "bound": bound, "good": good})

def least(figures, run, key):
    return min(each[key] for each in figures[run])

def inference(figures, model, key):
    """What one more inference adds to a counter."""
    more = least(figures, model + "_many", key) - least(figures, model + "_few", key)
    return more / figures[model + "_more"]

def inform(what, model, key):
    line(what, inference(ork, model, key), inference(rocket, model, key))

def fewer(what, model, key):
    mine, theirs = inference(ork, model, key), inference(rocket, model, key)
    line(what, mine, theirs, "fewer than rocket's", mine < theirs)

def no_more(what, model, key):
    mine, theirs = inference(ork, model, key), inference(rocket, model, key)
    equal = "; as many, since no job has linked tasks" if mine == theirs else ""
    line(what, mine, theirs, "no more than rocket's" + equal, mine <= theirs)

def driver_instructions(figures, model):
    """Without those of the timer, which come with the time that the client computes."""
    return inference(figures, model, "kernel_instructions") - inference(figures, model, "timer_instructions")

def instructions(model, is_bound=True):
    mine, theirs = (driver_instructions(figures, model) for figures in (ork, rocket))
    what = "  instructions of the kernel, without the timer's"
    if is_bound:
        line(what, mine, theirs, "fewer than rocket's", mine < theirs)
    else:
        line(what, mine, theirs, "none: one job is less than by how much the timer's vary")

def rows(model):
    inform("  programs", model, "programs")
    no_more("  starts of a core", model, "starts")
    no_more("  interrupts", model, "interrupts")
    fewer("  writes to the cores' registers", model, "register_writes")
    fewer("  attaches of an IOMMU", model, "attaches")
    fewer("  writes to the IOMMUs' registers", model, "iommu_writes")
    fewer("  bytes maintained", model, "bytes_maintained")

def whole(what, model, key, most):
    mine, theirs = (max(each[key] for each in figures[model + "_many"]) for figures in (ork, rocket))
    line(what, mine, theirs, "at most %d" % most, mine <= most)

def faults(figures):
    return sum(each["stale_reads"] + each["results_lost"]
               for run in figures if run.endswith(("_few", "_many")) for each in figures[run])

print("%-69s%12s%12s" % ("", "ork", "rocket"))
print("An inference of MobileNetV1 0.25 96x96 (net)")
rows("net")
instructions("net")
print("An inference of a convolution that takes several tasks (split)")
rows("split")
instructions("split", is_bound=False)
print("An inference of the smallest model, one job (core): next to no time on the CPU")
rows("small")
instructions("small")
print("All of a client with many inferences of MobileNetV1")
whole("  attaches of an IOMMU, by the core with the most", "net", "attaches_of_a_core", 2)
print("Of one client")
line("  cores kept busy, with independent jobs of 2 ms", ork["independent"]["busy_cores"],
     rocket["independent"]["busy_cores"], "at least 2.9", ork["independent"]["busy_cores"] >= 2.9)
line("stale reads and lost results, in all runs", faults(ork), faults(rocket), "none", faults(ork) == 0)

with open(sys.argv[3], "w") as f:
    json.dump({"ork": ork, "rocket": rocket, "results": results}, f, indent=1)
    f.write("\n")
print("\nall figures are in", sys.argv[3])
sys.exit(any(r["good"] is False for r in results))
END_OF_TABLE
