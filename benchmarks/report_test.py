#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of report.py and plots.py with small recorded data."""

import json
import os
import shutil
import tempfile
import unittest

import plots
import report

ABOUT = {"date": "2026-11-23T06:00:00Z", "processor": "CPU", "processors": 2, "memory_mb": 4096,
         "kernel": "6.1", "revision": "abc",
         "options": {"pods": 1000, "connections": 16, "rounds": 2}}


def measured(scenario, gating, rate, round_=1, gates=1, **more):
    return {"scenario": scenario, "gates": gates, "gating": gating, "round": round_, "pods": 1000,
            "seconds": 4.0, "pods_per_second": rate, **more}


def results(*measurements):
    return report.Results({"about": ABOUT, "measurements": list(measurements)})


def row_of(table, start):
    rows = [line for line in table.split("\n") if line.startswith("| " + start)]
    assert len(rows) == 1, f"{start}: {rows}"
    return [cell.strip() for cell in rows[0].strip("|").split("|")]


class ReportTest(unittest.TestCase):
    def test_ratio_is_of_the_same_round(self):
        # A machine that is half as fast in the second round.
        data = results(measured("burst", "Floor", 200, 1), measured("burst", "Webhook", 180, 1),
                       measured("burst", "Floor", 100, 2), measured("burst", "Webhook", 80, 2))
        row = row_of(report.rounds_table(data), "burst, one gate: pods/s")
        self.assertEqual(row[1], "150 (100-200)")
        self.assertEqual(row[2],
                         "130 (80.0-180); 0.85 (0.80-0.90) of the floor; ≥ 0.80 reached")

    def test_missed_goals_are_named(self):
        data = results(measured("burst", "Floor", 200), measured("burst", "Policy", 179))
        row = row_of(report.rounds_table(data), "burst, one gate: pods/s")
        self.assertIn("≥ 0.90 NOT reached", row[2])

    def test_more_cpu_than_the_goal_is_not_reached(self):
        cpu = "plane_cpu_ms"
        data = results(measured("burst", "Floor", 1, **{cpu: {"kube-apiserver": 4}}),
                       measured("burst", "Webhook", 1, **{cpu: {"kube-apiserver": 6}}),
                       measured("burst", "Policy", 1, **{cpu: {"kube-apiserver": 4.2}}))
        row = row_of(report.rounds_table(data), "burst, one gate: API server CPU")
        self.assertIn("1.50 of the floor; ≤ 1.45 NOT reached", row[2])
        self.assertIn("1.05 of the floor; ≤ 1.10 reached", row[3])

    def test_what_was_not_measured_has_no_row(self):
        data = results(measured("burst", "Floor", 200))
        self.assertNotIn("backlog", report.rounds_table(data))

    def test_lost_events_are_counted(self):
        data = results(
            measured("burst", "Webhook", 1, events={"expected": 30, "seen": 30, "seconds": 2.0}),
            measured("burst", "Webhook", 1, 2,
                     events={"expected": 30, "seen": 27, "seconds": 4.0}))
        self.assertEqual(row_of(report.events_table(data), "burst"),
                         ["burst, one gate, by webhook", "60", "3", "3.00 (2.00-4.00)"])

    def test_growth_compares_with_the_floor_of_the_point(self):
        memory = {"after": {"shard": {"rss_mb": 7.5, "private_mb": 1, "peak_rss_mb": 9}}}
        ours = {"scenario": "gated-pods", "gates": 1, "gating": "Webhook", "pods": 1,
                "pods_per_second": 300, "cpu_ms": {"shard": 0.2, "operator": 0.1},
                "plane_cpu_ms": {"kube-apiserver": 5}, "memory": memory}
        floor = {"scenario": "gated-pods", "gates": 1, "gating": "Floor", "pods_per_second": 400}
        data = results({**floor, "point": 1000}, {**ours, "point": 1000},
                       {**floor, "point": 2000, "pods_per_second": 390}, {**ours, "point": 2000})
        self.assertEqual(row_of(report.growth_table(data), "2000"),
                         ["2000", "390", "300", "0.30", "5.00", "7.50", "9.00"])
        self.assertEqual(report.curve(data, "gated-pods", "pods_per_second"),
                         {"floor": [(1000, 400), (2000, 390)],
                          "by webhook": [(1000, 300), (2000, 300)]})

    def test_rest_counts_requests_by_account(self):
        rest = {"scenario": "rest", "gates": 2, "gating": "Webhook", "seconds": 60,
                "at_rest": {"shard": {"cpu_ms": 0.5, "wakeups": 1.25}},
                "memory": {"idle": {"shard": {"rss_mb": 7, "private_mb": 1, "peak_rss_mb": 8}}},
                "requests": {"pod-placement-shard": {"update leases": 4, "get pods": 1}}}
        text = report.rest_table(results(rest))
        self.assertEqual(row_of(text, "shard,"),
                         ["shard, by webhook", "30.0", "1.25", "7.00", "1.00"])
        self.assertEqual(row_of(text, "pod-placement-shard")[1:],
                         ["5.00", "get pods 1.00, update leases 4.00"])

    def test_page_keeps_its_prose(self):
        page = "Before.\n<!-- a -->\nold\n<!-- /a -->\nBetween.\n<!-- b -->\nkept\n<!-- /b -->\n"
        filled = report.fill(page, {"a": "new"})
        self.assertEqual(filled, "Before.\n<!-- a -->\n\nnew\n\n<!-- /a -->\nBetween.\n"
                                 "<!-- b -->\nkept\n<!-- /b -->\n")
        self.assertEqual(report.fill(filled, {"a": "new"}), filled)

    def test_page_without_a_place_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "<!-- a -->"):
            report.fill("text", {"a": "new"})

    def test_whole_report_from_files(self):
        data = {"about": ABOUT, "measurements": [
            measured("burst", "Floor", 200), measured("burst", "Webhook", 170),
            measured("churn", "Webhook", 150, from_call_ms={"p50": 4, "p99": 20})]}
        micro = {"benchmarks": [{"name": "BM_Decode/2", "cpu_time": 1500, "time_unit": "ns",
                                 "bytes_per_second": 2e9}]}
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "micro"))
            for name, content in (("rounds.json", data), ("micro/codec_benchmark.json", micro)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    json.dump(content, file)
            suites, benchmarks = report.read(folder)
        parts = report.sections(suites, benchmarks)
        self.assertIn("revision abc", parts["rounds-about"])
        self.assertEqual(row_of(parts["once"], "churn")[1:], ["1000", "150", "4.00; 20.0", "4.00"])
        self.assertEqual(row_of(parts["micro"], "codec"),
                         ["codec", "Decode/2", "1500 ns", "2000 MB/s"])
        self.assertNotIn("growth", parts)


class FleetTest(unittest.TestCase):
    ABOUT = {**ABOUT, "options": {"clusters": 5000, "placements": 500, "changes": 50}}
    MEMORY = {"rss_mb": 50.5, "private_mb": 40.25, "peak_rss_mb": 61}

    def tables(self, *measurements):
        suites = {"fleet": report.Results({"about": self.ABOUT, "measurements": measurements})}
        return report.sections(suites, {})

    def test_passes_have_their_writes(self):
        measured_pass = {"seconds": 12.5, "cpu_seconds": 6, "decisions": 700, "memory": self.MEMORY}
        text = self.tables(
            {"scenario": "first-pass", **measured_pass,
             "writes": {"patch placements/status": 500, "create placementdecisions": 700}},
            {"scenario": "restart", **measured_pass, "writes": {}})["fleet"]
        self.assertEqual(row_of(text, "first pass")[1:], [
            "12.5", "6.00", "700", "create placementdecisions 700, patch placements/status 500"])
        self.assertEqual(row_of(text, "restart")[1:],
                         ["12.5", "6.00; ≤ 5 NOT reached", "700", "none"])
        self.assertEqual(row_of(text, "after the first pass")[1:],
                         ["50.5", "40.2", "61.0; ≤ 60 NOT reached"])

    def test_changes_have_their_times(self):
        parts = self.tables({"scenario": "change", "kind": "label", "changes": 50,
                             "decided_ms": {"p50": 300, "p99": 450},
                             "last_write_ms": {"p50": 310, "p99": 900}, "writes_per_change": 12})
        self.assertEqual(row_of(parts["fleet"], "a cluster moves")[1:],
                         ["300; 450; ≤ 1000 reached", "310; 900", "12.0"])
        self.assertIn("5000 clusters, 500 Placements", parts["fleet-about"])

    def test_missing_clusters_are_named(self):
        parts = self.tables({"scenario": "missing", "events": 9000, "missing": 0})
        self.assertIn("was missing 0 times", parts["fleet"])


class PlotsTest(unittest.TestCase):
    def test_scripts_have_the_data(self):
        data = results(measured("burst", "Floor", 200, 1), measured("burst", "Floor", 100, 2),
                       measured("burst", "Webhook", 170))
        script = report.scripts({"rounds": data}, "folder")["rounds"]
        self.assertIn('set output "folder/rounds.svg"', script)
        self.assertIn('150.0 100 200 "burst, one gate"', script)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed (make bench does)")
    def test_gnuplot_draws_both_kinds(self):
        with tempfile.TemporaryDirectory() as folder:
            line = os.path.join(folder, "line.svg")
            plots.draw(plots.line_plot(line, "Title", "x", "y", {"ours": [(1, 2), (10, 3)]}, True))
            bars = os.path.join(folder, "bars.svg")
            plots.draw(plots.bar_plot(bars, "Title", "y", ["a", "b"],
                                      {"floor": [(2, 1, 3), (4, 4, 4)]}))
            for path in (line, bars):
                with open(path, encoding="utf-8") as file:
                    self.assertIn("Title", file.read())


if __name__ == "__main__":
    unittest.main()
