#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-kernel`: measures ork, and then mainline's rocket, on one emulated board in one run. Holds ork's
# figures against their bounds, with rocket's beside them, and writes all to build/bench-kernel.json.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/bench-kernel
rm -rf "$out"
"$top/selftests/vm/vm.sh" --kernel bench --module none --icount --smp 1 --memory 2500 --out "$out" \
	--timeout 1800 -- bench-drivers /out bench ork rocket

python3 - "$out/ork.json" "$out/rocket.json" "$top/build/bench-kernel.json" <<'END'
import json, sys

ork, rocket = (json.load(open(path)) for path in sys.argv[1:3])
results = []

def line(what, unit, mine, theirs, bound="", good=None):
    """One figure of both drivers; those that only inform have no bound."""
    verdict = "" if good is None else "ok" if good else "not ok"
    print("%-7s%-58s%12s%12s  %-7s%s" % (verdict, what, "%.10g" % round(mine, 2), "%.10g" % round(theirs, 2),
                                         unit, bound))
    results.append({"what": what, "unit": unit, "ork": mine, "rocket": theirs, "bound": bound, "good": good})

def at_most(what, unit, key, most, bound=None):
    line(what, unit, ork[key], rocket[key], bound or "at most %g" % most, ork[key] <= most)

def at_least(what, unit, key, least):
    line(what, unit, ork[key], rocket[key], "at least %g" % least, ork[key] >= least)

def inform(what, unit, key):
    line(what, unit, ork[key], rocket[key])

def share(what, unit, key, part, name):
    at_most(what, unit, key, part * rocket[key], "at most %s of rocket's" % name)

def flatness(figures):
    costs = [figures["sync_%s_%s" % (size, place)] for size in ("1mib", "1gib") for place in ("start", "end")]
    return max(costs) / min(costs)

print("%-65s%12s%12s" % ("", "ork", "rocket"))
at_least("cores that one client with 2 ms jobs keeps busy", "", "busy_cores", 2.9)
share("from a job's interrupt to the next job's start", "ns", "gap_ns", 1 / 3, "a third")
inform("between the programs of a job of 512", "ns", "chain_gap_ns")
at_most("ioctls to submit that job", "", "chain_ioctls", 1)
at_most("interrupts of that job", "", "chain_interrupts", 1)
at_most("register writes for that job", "", "chain_register_writes", 20)
inform("jobs of one client", "", "attach_jobs")
inform("attaches of an IOMMU for them", "", "attaches")
at_most("of them the core with the most", "", "attaches_of_a_core", 1)
share("kernel instructions to submit, complete and await a job", "", "instructions_per_job", 0.7, "0.7")
for size, name in ("1mib", "1 MiB"), ("1gib", "1 GiB"):
    for place in "start", "end":
        inform("kernel instructions to sync 4 KiB at the %s of %s" % (place, name), "", "sync_%s_%s" % (size, place))
line("the dearest of them by the cheapest", "", flatness(ork), flatness(rocket), "at most 1.2", flatness(ork) <= 1.2)
inform("what the client of a job that hangs is told", "errno", "hang_error")
at_most("from a hang's detection to the core's next job", "ms", "hang_back_ms", 50)
at_most("delay of the jobs behind it, from the detection on", "ms", "hang_delay_same_core_ms", 50)
at_most("delay of other clients' jobs on the second core", "ms", "hang_delay_core_1_ms", 50)
at_most("delay of other clients' jobs on the third core", "ms", "hang_delay_core_2_ms", 50)
at_most("jobs of other clients that failed", "", "hang_others_failed", 0)

with open(sys.argv[3], "w") as f:
    json.dump({"ork": ork, "rocket": rocket, "results": results}, f, indent=1)
    f.write("\n")
print("\nall figures are in", sys.argv[3])
sys.exit(any(r["good"] is False for r in results))
END
