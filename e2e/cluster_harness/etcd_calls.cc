// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/etcd_calls.h"

#include <charconv>
#include <chrono>

#include "kube/base/clock.h"
#include "kube/http/pool.h"
#include "kube/types/unstructured.h"

namespace e2e {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kPort[] = "2379";
constexpr std::chrono::seconds kLimit{2};

// The body of the answer to a POST.
Async<std::string> Post(std::string host, std::string path, std::string body) {
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Origin origin;
  origin.scheme = "http";
  origin.host = host;
  origin.port = kPort;
  auto pool = kube::HttpPool::New(executor, kube::RealClock(), std::move(origin), {});
  kube::HttpRequest request;
  request.method = "POST";
  request.target = path;
  request.body = std::move(body);
  request.timeout = kLimit;
  Result<kube::HttpResponse> answer = co_await pool->Call(std::move(request));
  std::string about = "etcd at " + host + path + ": ";
  if (!answer) co_return Error::Unavailable(about + answer.error().message());
  if (answer->status != 200) co_return Error::Unavailable(about + answer->body.substr(0, 300));
  co_return std::move(answer->body);
}

// Numbers of 64 bits are texts in etcd's JSON.
int64_t NumberAt(const kube::Json& json, const std::string& path) {
  const std::string text = kube::StringAt(json, path);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<EtcdStatus> ParseEtcdStatus(const std::string& answer) {
  Result<kube::Json> status = kube::ParseJson(answer);
  if (!status) return status.error();
  const std::string leader = kube::StringAt(*status, "leader");
  if (leader.empty() || leader == "0") return Error::Unavailable("etcd has no leader");
  return EtcdStatus{.leads = leader == kube::StringAt(*status, "header.member_id"),
                    .revision = NumberAt(*status, "header.revision")};
}

Async<EtcdStatus> StatusOfEtcd(std::string host) {
  std::string path = "/v3/maintenance/status";
  std::string body = "{}";
  Result<std::string> answer = co_await Post(std::move(host), std::move(path), std::move(body));
  if (!answer) co_return answer.error();
  co_return ParseEtcdStatus(*answer);
}

Async<> CompactEtcd(std::string host, int64_t revision) {
  std::string path = "/v3/kv/compaction";
  std::string body = "{\"revision\": \"" + std::to_string(revision) + "\"}";
  Result<std::string> answer = co_await Post(std::move(host), std::move(path), std::move(body));
  if (!answer) co_return answer.error();
  co_return Ok();
}

}  // namespace e2e
