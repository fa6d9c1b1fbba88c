# SPDX-License-Identifier: Apache-2.0
"""Runs flows, and writes their results in JUnit's format."""

import time
import traceback
import xml.etree.ElementTree


def run_flows(suite_name, flows, clean_up, explain, path):
    """Runs each of `flows`, functions by name, on a clean cluster, and cleans up at the end, which
    is a test case too. `explain` prints the state of the cluster after a failure. Returns whether
    all passed; `path` may be None."""
    suite = xml.etree.ElementTree.Element("testsuite", name=suite_name)
    passed = True
    for name, flow in [*flows.items(), ("clean up", lambda: None)]:
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=suite_name, name=name)
        start = time.monotonic()
        try:
            clean_up()
            flow()
        except Exception as error:
            passed = False
            traceback.print_exc()
            explain()
            xml.etree.ElementTree.SubElement(case, "failure", message=str(error))
        case.set("time", f"{time.monotonic() - start:.1f}")
        print(f"{name}: {case.get('time')} s", flush=True)
    if path:
        xml.etree.ElementTree.ElementTree(suite).write(path)
    return passed
