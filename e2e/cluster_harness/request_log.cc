// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/request_log.h"

#include <fstream>

#include "kube/types/unstructured.h"

namespace e2e {
namespace {

using kube::Json;
using kube::Result;

// "system:serviceaccount:shop:pod-placement-shard-controller" -> the last part.
std::string AccountOf(const Json& event) {
  std::string user = kube::StringAt(event, "user.username");
  return user.substr(user.rfind(':') + 1);
}

std::string ResourceOf(const Json& event) {
  std::string resource = kube::StringAt(event, "objectRef.resource");
  std::string subresource = kube::StringAt(event, "objectRef.subresource");
  return subresource.empty() ? resource : resource + "/" + subresource;
}

}  // namespace

void RequestLog::Skip() {
  std::ifstream log(path_, std::ios::ate | std::ios::binary);
  at_ = log ? static_cast<std::streamoff>(log.tellg()) : 0;
}

Result<std::vector<LoggedRequest>> RequestLog::Read() {
  std::ifstream log(path_, std::ios::binary);
  if (!log) return kube::Error::Unavailable("cannot read " + path_);
  log.seekg(at_);
  std::vector<LoggedRequest> requests;
  // The last line may still be incomplete; then it is read the next time.
  for (std::string line; std::getline(log, line) && !log.eof();) {
    at_ += static_cast<std::streamoff>(line.size()) + 1;
    Result<Json> event = kube::ParseJson(line);
    if (!event) continue;  // from a crash of the API server
    std::string account = AccountOf(*event);
    if (!account.starts_with("pod-placement-") && !account.starts_with("multiarch-")) continue;
    std::string uri = kube::StringAt(*event, "requestURI");
    requests.push_back({.account = std::move(account),
                        .verb = kube::StringAt(*event, "verb"),
                        .resource = ResourceOf(*event),
                        .ns = kube::StringAt(*event, "objectRef.namespace"),
                        .name = kube::StringAt(*event, "objectRef.name"),
                        .dry_run = uri.find("dryRun=All") != std::string::npos});
  }
  return requests;
}

}  // namespace e2e
