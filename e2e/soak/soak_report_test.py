#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of soak_report.py with synthetic series."""

import json
import os
import random
import shutil
import tempfile
import unittest

import soak_report
from soak_report import HOUR, LIMITS, Run

EVERY = 15
MB = 1024


def process(program, t, value, name="p", series=0, **more):
    return {"kind": "process", "t": t, "program": program, "process": name, "series": series,
            "rss_kb": value, "fds": 20, "tasks": 12, "log_bytes": 0, "requests": 0, **more}


def samples(of, seconds=7200, begin=0, program="shard", **more):
    """A sample every 15 seconds; `of`: the RSS in KiB at a time since `begin`."""
    return [process(program, t, of(t - begin), **more) for t in range(begin, seconds, EVERY)]


def others(seconds=7200):
    """Flat series of all programs but the shard."""
    return [line for program in LIMITS if program != "shard"
            for line in samples(lambda t: 5000, seconds, program=program, name=program)]


def run_of(lines, failures=(), rest=True):
    lines = list(lines) + (others() if rest else [])
    end = {"kind": "end", "t": max(line["t"] for line in lines), "failures": list(failures)}
    return Run([{"kind": "start", "t": 0}] + lines + [end])


def failures_of(lines, **more):
    return soak_report.judge(run_of(lines, **more))[1]


def unclear_of(lines):
    return soak_report.judge(run_of(lines))[2]


class SlopeTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(7)

    def noise(self, size):
        return self.random.gauss(0, size)

    def test_a_flat_series_passes(self):
        lines = samples(lambda t: 4000 + self.noise(50))
        self.assertEqual(failures_of(lines), [])
        self.assertEqual(unclear_of(lines), [])

    def test_a_leak_fails_with_its_slope(self):
        failures = failures_of(samples(lambda t: 4000 + 2 * MB * t / HOUR + self.noise(50)))
        self.assertEqual(len(failures), 1)
        self.assertRegex(failures[0], r"^shard: RSS without file pages (2\.0|1\.9)\d ± .* FAIL")

    def test_growth_in_the_first_quarter_is_no_leak(self):
        lines = samples(lambda t: 4000 + 3 * min(t, 1700) + self.noise(50))
        self.assertEqual(failures_of(lines), [])

    def test_noise_does_not_fail_a_run(self):
        # Steps of the heap: neighbours are alike, and a plain least-squares error is too small.
        for seed in range(20):
            self.random.seed(seed)
            level = [4000]

            def step(_):
                level[0] += 0.05 * (4000 - level[0]) + self.noise(120)
                return level[0]
            self.assertEqual(failures_of(samples(step)), [], seed)

    def test_too_much_noise_is_not_clear(self):
        lines = samples(lambda t: 9000 + self.noise(4000))
        self.assertEqual(failures_of(lines), [])
        self.assertEqual(unclear_of(lines), ["shard: RSS without file pages"])

    def test_a_restarted_process_has_a_new_level_and_warms_up_again(self):
        def restarted(leak):
            lines = []
            for number, begin in enumerate(range(0, 7200, 1200)):
                lines += samples(lambda t: 3000 + 10 * min(t, 100) + leak * MB * t / HOUR +
                                 self.noise(50), begin + 1200, begin, series=number)
            return lines
        self.assertEqual(failures_of(restarted(0)), [])
        self.assertEqual(unclear_of(restarted(0)), [])
        self.assertEqual(len(failures_of(restarted(3))), 1)

    def test_a_leak_of_one_replica_is_not_averaged_away(self):
        lines = [line for n in range(7) for line in samples(lambda t: 4000 + self.noise(50),
                                                            name=f"flat-{n}")]
        lines += samples(lambda t: 4000 + 2 * MB * t / HOUR + self.noise(50), name="leaks")
        failures = failures_of(lines)
        self.assertEqual(len(failures), 1)
        self.assertIn("shard, process leaks alone: RSS", failures[0])

    def test_descriptors_and_tasks_have_limits(self):
        for field in ("fds", "tasks"):
            lines = samples(lambda t: 4000)
            for line in lines:
                line[field] = 20 + round(line["t"] / 240)  # 15 an hour
            failures = failures_of(lines)
            self.assertEqual(len(failures), 1, failures)
            self.assertIn(soak_report.QUANTITIES[field].title, failures[0])

    def test_counters_are_judged_by_their_rate(self):
        def counting(requests, log):
            lines = samples(lambda t: 4000)
            for line in lines:
                line["requests"] = requests * line["t"]
                line["log_bytes"] = log * line["t"]
            return failures_of(lines)
        limits = LIMITS["shard"]
        per_second = limits["log_bytes"] * 1024 / HOUR
        self.assertEqual(counting(0.9 * limits["requests"], 0.9 * per_second), [])
        failures = counting(1.2 * limits["requests"], 1.2 * per_second)
        self.assertEqual(len(failures), 2, failures)

    def test_a_restart_does_not_count_as_requests(self):
        lines = samples(lambda t: 4000, 3600) + samples(lambda t: 4000, 7200, 3600, series=1)
        for line in lines:
            line["requests"] = 10 * (line["t"] % 3600)
        self.assertEqual(failures_of(lines), [])

    def test_what_was_not_read_is_left_out(self):
        lines = samples(lambda t: 4000)
        for line in lines[::2]:
            line["tasks"] = line["requests"] = None
        self.assertEqual(failures_of(lines), [])

    def test_a_run_of_a_few_minutes_is_judged_by_rates_alone(self):
        def leaking(seconds):
            lines = samples(lambda t: 4000 + 20 * MB * t / HOUR, seconds)
            for line in lines:
                line["requests"] = 2 * LIMITS["shard"]["requests"] * line["t"]
            return failures_of(lines + others(seconds), rest=False)
        self.assertEqual([f.split(":")[1][:4] for f in leaking(soak_report.SHORTEST - 60)],
                         [" API"])
        self.assertEqual([f.split(":")[1][:4] for f in leaking(soak_report.SHORTEST + 60)],
                         [" RSS", " API"])

    def test_a_short_run_has_no_slope(self):
        rows = soak_report.judge(run_of(samples(lambda t: 4000, 60), rest=False))[0]
        self.assertEqual(rows[0][2:], [""] * 5)


class RunTest(unittest.TestCase):
    def test_failures_of_the_run_itself_count(self):
        lines = samples(lambda t: 4000)
        self.assertEqual(failures_of(lines, failures=["pod a/b is gated"]), ["pod a/b is gated"])

    def test_a_run_that_did_not_end_fails(self):
        run = Run(samples(lambda t: 4000) + others())
        self.assertEqual(soak_report.judge(run)[1], ["the run did not end"])

    def test_a_program_without_samples_fails(self):
        failures = failures_of(samples(lambda t: 4000), rest=False)
        self.assertIn("hub: no sample", failures)
        self.assertNotIn("shard: no sample", failures)

    def test_every_program_has_every_limit(self):
        for program, limits in LIMITS.items():
            self.assertEqual(set(limits), set(soak_report.QUANTITIES), program)

    def test_summary_counts_pods_and_faults(self):
        run = run_of(samples(lambda t: 4000))
        run.pods = [{"t": 10, "created": 30, "both_gates": 29, "deleted": 5, "gated": 3,
                     "longest_gated": 7.5}]
        run.faults = [{"fault": "kill", "t": 60}, {"fault": "kill", "t": 120},
                      {"fault": "registry", "t": 180}]
        run.about["options"] = {"rate": 30}
        text = soak_report.summary(run)
        self.assertIn("120 minutes at 30 pods a second", text)
        self.assertIn("30 pods created, 29 of them with both gates", text)
        self.assertIn("longer than 7.50 s", text)
        self.assertIn("3 faults: 2 kill, 1 registry", text)

    def test_an_incomplete_last_line_is_ignored(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run")
            with open(path, "w", encoding="utf-8") as file:
                for line in samples(lambda t: 4000, 60):
                    file.write(json.dumps(line) + "\n")
                file.write('{"kind": "proc')
            self.assertEqual(len(soak_report.read(path).samples), 4)

    def test_plots_are_drawn(self):
        run = run_of(samples(lambda t: 4000))
        run.pods = [{"t": t, "gated": 3, "longest_gated": 1.0} for t in (0, 15)]
        with tempfile.TemporaryDirectory() as folder:
            scripts = soak_report.scripts(run, folder)
            self.assertEqual(len(scripts), 6)
            for points in soak_report.line_of(run, "shard", "rss_kb"), \
                    soak_report.line_of(run, "shard", "requests"):
                self.assertLessEqual(len(points), soak_report.POINTS)
                self.assertGreater(len(points), 30)
            if shutil.which("gnuplot"):
                for script in scripts:
                    soak_report.plots.draw(script)
                self.assertIn("soak-rss.svg", os.listdir(folder))


if __name__ == "__main__":
    unittest.main()
