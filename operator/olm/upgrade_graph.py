# SPDX-License-Identifier: Apache-2.0
"""Which versions OLM upgrades to which.

The channel `stable` of a catalog has one entry, the version of this build, without `replaces`: no
bundle was published before it, and `replaces` must name a bundle of the catalog. By its skipRange,
OLM upgrades every installed version since 0.1.0 to it, directly: the operator upgrades from each of
them (docs/operations.md, "Upgrade"). The next version is built with the same rule, and so replaces
this one in the catalog.
"""

PACKAGE = "multiarch-tuning-operator"
CHANNEL = "stable"
FIRST_VERSION = "0.1.0"


def bundle_name(version):
    return f"{PACKAGE}.v{version}"


def skip_range(version):
    return f">={FIRST_VERSION} <{version}"
