// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/namespace_reader.h"

#include "kube/client/typed.h"
#include "kube/types/core.pb.h"

namespace policy {
namespace {

using kube::core::Namespace;

kube::Async<placement::Labels> ReadLabels(kube::Client& client, std::string ns) {
  kube::ApiRequest get{.target = kube::ResourceOf<Namespace>::value.Path("", ns),
                       .accept = std::string(kube::kProtobuf),
                       .timeout = kNamespaceReadTimeout};
  kube::Result<Namespace> read = co_await kube::CallFor<Namespace>(client, std::move(get));
  if (!read) co_return read.error().Prefix("read namespace " + ns);
  co_return std::move(*read->mutable_metadata()->mutable_labels());
}

}  // namespace

kube::Async<placement::Labels> NamespaceReader::Read(std::string ns) {
  auto found = reads_.find(ns);
  if (found == reads_.end()) {
    if (reads_.size() >= kMaxNamespaceReads) {
      co_return kube::Error::Throttled("read namespace " + ns + ": " +
                                       std::to_string(kMaxNamespaceReads) +
                                       " others are being read");
    }
    kube::Client& client = client_;
    kube::SharedCall<placement::Labels> read([&client, ns] { return ReadLabels(client, ns); });
    found = reads_.emplace(ns, std::move(read)).first;
  }
  kube::SharedCall<placement::Labels> call = found->second;
  kube::Result<placement::Labels> labels = co_await call.Call();
  if (call.idle()) reads_.erase(ns);
  co_return labels;
}

}  // namespace policy
