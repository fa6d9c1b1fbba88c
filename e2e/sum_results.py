#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts test cases over all results and prints `N passed, N failed` as its last line.

  sum_results.py [--bep FILE]... [--stopped FILE]... [--xml FILE]... [--crashed FILE]...
                 [--failed TEXT]...

--bep is a build event file of `bazel test` (--build_event_json_file), --stopped one of a Bazel that
was stopped on purpose, of which only the results and the failed builds count, --xml a result in
JUnit's format, which GoogleTest writes, --crashed such a result whose program ended with an error,
--failed a failure that no test reports. Exits with 1 if a test failed or none passed.
"""

import argparse
import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree


def reason_of(case):
    """Why a test case was skipped, after a colon. Without GoogleTest's place in the code."""
    skipped = case.find("skipped")
    lines = (skipped.get("message", "") if skipped is not None else "").split("\n")
    if re.fullmatch(r"\S+:\d+", lines[0]):
        del lines[0]
    text = " ".join(lines).strip()
    return f": {text}" if text else ""


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add_xml(self, name, path):
        """Adds the test cases of a result; False if it has none."""
        try:
            cases = list(xml.etree.ElementTree.parse(path).iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError):
            return False
        for case in cases:
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(f"{name} {case.get('classname', '')}.{case.get('name', '')}")
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                self.skipped.append(f"{name} {case.get('classname', '')}.{case.get('name', '')}"
                                    f"{reason_of(case)}")
            else:
                self.passed += 1
        return bool(cases)


# Exit codes of Bazel whose reasons are in the events.
REPORTED_ENDS = {"TESTS_FAILED", "BUILD_FAILURE", "PARSING_FAILURE"}


# Of a test that was running when Bazel was stopped.
UNFINISHED = {"NO_STATUS", "INCOMPLETE"}


def parsed(lines):
    """The events; a line that Bazel did not write to its end is the last one."""
    for line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def xml_of(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return ""


def build_failed(event):
    """Whether this is the end of a target that cannot be built, not one that was not built."""
    completed = event.get("completed")
    return (completed is not None and not completed.get("success") and "aborted" not in event
            and "interrupted" not in completed.get("failureDetail", {}))


def add_build(totals, path, stopped=False):
    """Adds the test targets of a `bazel test`. A target whose build failed has failed. Unless it
    was stopped, so has a target that was not built, and a Bazel that did not come to its end, or
    whose failure no target reports."""
    built = set()
    failed_at_first = len(totals.failed)
    with open(path, encoding="utf-8") as lines:
        events = list(parsed(lines))
    for event in events:
        if "testResult" not in event:
            continue
        label = event["id"]["testResult"]["label"]
        built.add(label)
        result = event["testResult"]
        if stopped and result.get("status") in UNFINISHED:
            continue
        failed_before = len(totals.failed)
        counted = totals.add_xml(label, xml_of(result))
        if result.get("status") == "PASSED":
            totals.passed += 0 if counted else 1
        elif len(totals.failed) == failed_before:
            # It crashed or timed out, so no test case has failed.
            totals.failed.append(f"{label} {result.get('status', 'without status')}")
    for event in events:
        completed = event.get("id", {}).get("targetCompleted")
        succeeded = event.get("completed", {}).get("success")
        counts = build_failed(event) if stopped else not succeeded
        if completed and completed["label"] not in built and counts:
            totals.failed.append(f"{completed['label']} was not built")
    if stopped:
        return
    for event in events:
        failed_action = event.get("id", {}).get("pattern")
        if failed_action and "aborted" in event:
            patterns = " ".join(failed_action.get("pattern", []))
            totals.failed.append(f"{patterns}: {event['aborted'].get('description')}")
    ends = [event["finished"].get("exitCode", {}).get("name", "an unknown exit code")
            for event in events if "finished" in event]
    end = ends[-1] if ends else "no end"
    reported = end in REPORTED_ENDS and len(totals.failed) > failed_at_first
    if end != "SUCCESS" and not reported:
        totals.failed.append(f"{os.path.basename(path)}: bazel ended with {end}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bep", action="append", default=[])
    parser.add_argument("--stopped", metavar="BEP", action="append", default=[])
    parser.add_argument("--xml", action="append", default=[])
    parser.add_argument("--crashed", metavar="XML", action="append", default=[])
    parser.add_argument("--failed", metavar="TEXT", action="append", default=[])
    args = parser.parse_args()

    totals = Totals()
    totals.failed += args.failed
    for path in args.bep:
        if os.path.exists(path):
            add_build(totals, path)
        else:
            totals.failed.append(f"{path}: bazel wrote no results")
    for path in args.stopped:
        if os.path.exists(path):
            add_build(totals, path, stopped=True)
    for path in dict.fromkeys(args.xml + args.crashed):
        failed_before = len(totals.failed)
        if not totals.add_xml(os.path.basename(path), path):
            totals.failed.append(f"{path}: no results")
        elif path in args.crashed and len(totals.failed) == failed_before:
            totals.failed.append(f"{path}: its program ended with an error that no test reports")

    for name in totals.failed:
        print(f"FAILED {name}")
    for name in totals.skipped:
        print(f"SKIPPED {name}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed")
    sys.exit(1 if totals.failed or not totals.passed else 0)


if __name__ == "__main__":
    main()
