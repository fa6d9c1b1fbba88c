# SPDX-License-Identifier: Apache-2.0
"""The images of the programs, for targets that name or copy all of them."""

_OPERATOR = ["cluster-controller", "console", "exec-format/monitor", "operator", "shard", "webhook"]
_FLEET = ["fleet/agent", "fleet/hub"]

# image: for nodes of this machine's architecture; index: for a registry.
def _references(packages):
    return [
        "//{}:{}.ref".format(package, kind)
        for package in packages
        for kind in ["image", "index"]
    ]

def _archives(packages):
    return ["//{}:index.tar".format(package) for package in packages]

# The programs of the operator and its operands.
IMAGE_REFERENCES = _references(_OPERATOR)
IMAGE_ARCHIVES = _archives(_OPERATOR)

# The programs of the fleet's hub and agent.
FLEET_IMAGE_REFERENCES = _references(_FLEET)
FLEET_IMAGE_ARCHIVES = _archives(_FLEET)
