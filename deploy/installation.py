# SPDX-License-Identifier: Apache-2.0
"""The objects of an installation that the build packs."""

import kustomization
import references


def objects_of(manifests, refs, components=()):
    """Those of the base and of `components`, with the images of `refs`. `manifests` are rendered by
    kustomization.py, and changed.

    A release whose images are there for all architectures has the component all-architectures, too.
    """
    objects = manifests["base"]
    chosen = [*components, *(["all-architectures"] if refs.for_all_architectures() else [])]
    for name in chosen:
        kustomization.add(objects, manifests["components"][name])
    return references.with_images(objects, refs.images())
