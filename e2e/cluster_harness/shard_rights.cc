// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/shard_rights.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "e2e/cluster_harness/control_plane.h"
#include "kube/types/unstructured.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr const char* kFile = "rights.json";

}  // namespace

Result<> WriteShardRights(const RbacAudit& audit) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  if (folder == nullptr) return Ok();
  return WriteFile(std::string(folder) + "/" + kFile, kube::DumpJson(audit.ToJson()));
}

Result<RbacAudit> ReadShardRights(const std::string& folder, int shards,
                                  const std::string& operator_namespace) {
  RbacAudit all(operator_namespace);
  for (int shard = 1; shard <= shards; ++shard) {
    std::string name = "shard_" + std::to_string(shard) + "_of_" + std::to_string(shards);
    std::string path = folder + "/" + name + "/test.outputs/" + kFile;
    std::ifstream file(path);
    if (!file) return Error::NotFound(name + ": not all flows ran and passed: no " + path);
    std::stringstream text;
    text << file.rdbuf();
    Result<Json> audit = kube::ParseJson(text.str());
    if (!audit) return audit.error().Prefix(path);
    all.Merge(*audit);
  }
  return all;
}

}  // namespace e2e
