// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/request_log.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "kube/types/unstructured.h"

namespace benchmarks {
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

bool IsRead(std::string_view verb) {
  constexpr std::array<std::string_view, 3> kReads = {"get", "list", "watch"};
  return std::find(kReads.begin(), kReads.end(), verb) != kReads.end();
}

}  // namespace

void RequestLog::Skip() {
  std::ifstream log(path_, std::ios::ate | std::ios::binary);
  at_ = log ? static_cast<std::streamoff>(log.tellg()) : 0;
}

Result<RequestCounts> RequestLog::Read() {
  std::ifstream log(path_, std::ios::binary);
  if (!log) return kube::Error::Unavailable("cannot read " + path_);
  log.seekg(at_);
  RequestCounts counts;
  for (std::string line; std::getline(log, line) && !log.eof();) {
    at_ += static_cast<std::streamoff>(line.size()) + 1;
    Result<Json> event = kube::ParseJson(line);
    if (!event) continue;
    std::string account = AccountOf(*event);
    if (!account.starts_with("pod-placement-") && !account.starts_with("multiarch-")) continue;
    std::string verb = kube::StringAt(*event, "verb");
    std::string resource = ResourceOf(*event);
    ++counts.by_kind[account + " " + verb + " " + resource];
    ++(IsRead(verb) ? counts.reads : counts.writes);
    if (!IsRead(verb) && resource == "leases") ++counts.lease_writes;
  }
  return counts;
}

}  // namespace benchmarks
