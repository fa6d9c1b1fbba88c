#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the flows of the console's pages, and keeps the pictures that docs/console.md shows.
set -euo pipefail
cd "$(dirname "$0")/../.."

KUBEBUILDER_ASSETS=$(e2e/cluster/build-tools.sh | sed -n 's/^KUBEBUILDER_ASSETS=//p')
export KUBEBUILDER_ASSETS
bazel test //e2e:console_test --cache_test_results=no --test_output=errors
mkdir -p docs/console
python3 - bazel-testlogs/e2e/console_test/test.outputs/outputs.zip docs/console <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as outputs:
    for name in ("overview", "waiting", "workloads", "new-config", "fleet"):
        with open(f"{sys.argv[2]}/{name}.png", "wb") as picture:
            picture.write(outputs.read(f"{name}.png"))
PYTHON
