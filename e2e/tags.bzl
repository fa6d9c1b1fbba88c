# SPDX-License-Identifier: Apache-2.0
"""The tags of tests that start a control plane."""

# It needs its own network namespace, and two processors.
CONTROL_PLANE_TAGS = [
    "cpu:2",
    "exclusive",
    "local",
]
