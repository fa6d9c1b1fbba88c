// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/served.h"

#include <gtest/gtest.h>

#include <charconv>

#include "kube/base/error.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace e2e {
namespace {

using kube::Json;
using kube::Result;

Result<Json> GetJson(Cluster& cluster, const std::string& target) {
  auto answer = cluster.Run(cluster.client().Call(kube::ApiRequest{.target = target}));
  if (!answer) return answer.error().Prefix(target);
  return kube::ParseJson(answer->body);
}

// "v1.36.3"; "" after an error, which is a failure.
std::string VersionOf(Cluster& cluster) {
  Result<Json> version = GetJson(cluster, "/version");
  EXPECT_TRUE(version) << version.error();
  return version ? kube::StringAt(*version, "gitVersion") : "";
}

}  // namespace

std::string NotServed(Cluster& cluster, const kube::Resource& resource) {
  Result<Json> served = GetJson(cluster, "/apis/" + resource.ApiVersion());
  if (!served && !IsNotFound(served)) {
    ADD_FAILURE() << served.error();
    return "";
  }
  if (served) {
    for (const Json& one : kube::ListAt(*served, "resources"))
      if (kube::StringAt(one, "name") == resource.plural) return "";
  }
  return "the API server (" + VersionOf(cluster) + ") does not serve " +
         std::string(resource.plural) + " of " + resource.ApiVersion();
}

int MinorVersion(Cluster& cluster) {
  const std::string version = VersionOf(cluster);
  int minor = 0;
  size_t dot = version.find('.');
  if (dot != std::string::npos)
    std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

}  // namespace e2e
