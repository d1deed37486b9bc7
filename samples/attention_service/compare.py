# samples/attention_service/compare.py — the same load under each tier, by turns; a table, and the figures as JSON.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   python3 samples/attention_service/compare.py [--build FOLDER] [--rounds N] [--out FILE] [--service "OPTION..."]
#                                                [option of attention_load]...
import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

TIERS = ["background", "wait"]


class Service:
    def __init__(self, build, options):
        # What the rounds before compiled would spare this one its compiles, which are what is compared.
        self.process = subprocess.Popen([build / "samples/attention_service", "--port", "0", *options],
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "TLXJIT_DISK_CACHE": "0"})
        self.device = ""
        for line in self.process.stdout:
            if line.startswith("device "):
                self.device = line.removeprefix("device ").strip()
            if found := re.match(r"listening on .*:(\d+)$", line):
                self.port = found[1]
            if self.device and hasattr(self, "port"):
                return
        sys.exit("compare: the service did not start")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        if self.process.wait():
            sys.exit(f"compare: the service ended with status {self.process.returncode}")


def measure(build, tier, service_options, load_options):
    service = Service(build, ["--tier", tier, *service_options])
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        load = subprocess.run([build / "samples/attention_load", "--port", service.port, "--json", file.name,
                               *load_options])
        service.end()
        if load.returncode:
            sys.exit("compare: an answer is wrong, or there was none")
        return service.device, json.load(open(file.name))


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--service", default="", help="options of attention_service")
    options, load_options = parser.parse_known_args()
    for program in "attention_service", "attention_load":
        if not os.access(options.build / "samples" / program, os.X_OK):
            sys.exit(f"compare: there is no {options.build}/samples/{program}: name the folder of the build with --build")
    busy = os.getloadavg()[0]  # of others: the figures of a busy machine say little
    runs, device = {tier: [] for tier in TIERS}, ""
    for round in range(options.rounds):
        for tier in TIERS if round % 2 == 0 else reversed(TIERS):
            print(f"\n== {tier}, round {round + 1} of {options.rounds}", flush=True)
            device, report = measure(options.build, tier, options.service.split(), load_options)
            runs[tier].append(report)

    print(f"\n{'tier':<12} {'p50 ms':>9} {'p99 ms':>9} {'first, ms':>10} {'warm p50':>9} {'first / warm':>13} {'worst':>7}")
    rows = []
    for tier, reports in runs.items():
        # The first kind meets an empty service, not one that runs.
        kinds = [kind for report in reports for kind in report["kinds"][1:] if kind["warm"]["count"]]
        ratios = [kind["first_ms"] / kind["warm"]["p50_ms"] for kind in kinds]
        row = {"tier": tier,
               "p50_ms": statistics.median(report["all"]["p50_ms"] for report in reports),
               "p99_ms": statistics.median(report["all"]["p99_ms"] for report in reports),
               "first_ms": statistics.median(kind["first_ms"] for kind in kinds),
               "warm_p50_ms": statistics.median(kind["warm"]["p50_ms"] for kind in kinds),
               "first_over_warm": statistics.median(ratios), "worst_first_over_warm": max(ratios)}
        rows.append(row)
        print(f"{tier:<12} {row['p50_ms']:9.2f} {row['p99_ms']:9.2f} {row['first_ms']:10.2f} {row['warm_p50_ms']:9.2f} "
              f"{row['first_over_warm']:13.2f} {row['worst_first_over_warm']:7.2f}")
    if options.out:
        cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
        figures = {"device": device, "cpu": cpu[1] if cpu else "", "commit": git("rev-parse", "HEAD"),
                   "tree": git("rev-parse", "HEAD^{tree}"), "dirty": bool(git("status", "--porcelain")),
                   "load_average_before": busy, "load": " ".join(pathlib.Path(word).name for word in load_options), "rounds": options.rounds}
        lines = [f'  "{name}": {json.dumps(value)},' for name, value in figures.items()]
        lines += ['  "rows": [', ",\n".join(f"    {json.dumps(row)}" for row in rows), "  ],"]
        all_runs = [{"tier": tier, **report} for tier, reports in runs.items() for report in reports]
        lines += ['  "runs": [', ",\n".join(f"    {json.dumps(run)}" for run in all_runs), "  ]"]
        options.out.write_text("\n".join(["{", *lines, "}"]) + "\n")


main()
