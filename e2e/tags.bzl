# SPDX-License-Identifier: Apache-2.0
"""The tags of tests that start a control plane."""

# Each has its own network namespace and waits most of the time: e2e/test.sh runs several at once,
# after the other tests.
CONTROL_PLANE_TAGS = [
    "control-plane",
    "local",
]

# Flows that wait for minutes: e2e/test.sh runs them in the part `long`, not with every change.
LONG_FLOWS_TAGS = CONTROL_PLANE_TAGS + ["long"]
