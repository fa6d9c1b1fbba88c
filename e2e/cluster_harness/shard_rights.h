// SPDX-License-Identifier: Apache-2.0
// Shard rights: the integration tier runs as shards, each with an API server of its own. A shard in
// which all flows ran and passed writes its audit to a file; together, the files show which rights
// no flow uses.
#pragma once

#include <string>

#include "e2e/cluster_harness/rbac_audit.h"
#include "kube/base/error.h"

namespace e2e {

// Writes `audit` into TEST_UNDECLARED_OUTPUTS_DIR, which Bazel sets; nothing if it is not set.
kube::Result<> WriteShardRights(const RbacAudit& audit);

// Merges the audits of all `shards` (at least 2) of a test, whose outputs Bazel has put into
// `folder`. kNotFound if a shard wrote none: it did not run, or not all its flows ran and passed.
kube::Result<RbacAudit> ReadShardRights(const std::string& folder, int shards,
                                        const std::string& operator_namespace);

}  // namespace e2e
