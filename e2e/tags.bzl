# SPDX-License-Identifier: Apache-2.0
"""The tags of tests that start a control plane."""

# Each has its own network namespace and waits most of the time: e2e/test.sh runs several at once,
# after the other tests.
CONTROL_PLANE_TAGS = [
    "control-plane",
    "local",
]
