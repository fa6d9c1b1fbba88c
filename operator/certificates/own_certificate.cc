// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/own_certificate.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/certificates/provider.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr auto kRefreshEvery = 20s;

Error FileError(const std::string& path) {
  return Error::Internal("cannot write " + path + ": " + std::strerror(errno));
}

// Replaces `path` atomically.
Result<void> WriteFile(const std::string& path, const std::string& content) {
  std::string temporary = path + ".new";
  int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return FileError(temporary);
  size_t done = 0;
  while (done < content.size()) {
    ssize_t count = write(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bool closed = close(file) == 0;
  if (done < content.size() || !closed || std::rename(temporary.c_str(), path.c_str()) != 0)
    return FileError(path);
  return Ok();
}

}  // namespace

OwnCertificate::OwnCertificate(kube::Client& client, kube::Clock& clock, std::string ns,
                               std::string directory, std::chrono::seconds validity)
    : client_(client),
      clock_(clock),
      ns_(std::move(ns)),
      directory_(std::move(directory)),
      validity_(validity) {}

Async<> OwnCertificate::Refresh() {
  CertificateRequest request{
      .log = "own webhooks:",
      .authority = {ns_, "multiarch-tuning-operator-ca"},
      .serving = {ns_, std::string(api::kOperatorServiceName)},
      .dns_names = ServingNames(api::kOperatorServiceName, ns_),
      .validity = validity_,
      .labels = {},
      .bundles = {{kube::kValidatingWebhookConfigurations,
                   std::string(kValidatingWebhookConfigurationName)},
                  {kube::kCustomResourceDefinitions, std::string(kConvertedCrdName)}},
      .publish_authorities = true,
  };
  if (!served_.certificate_pem.empty()) request.served = served_;
  // Reading it may need this replica's webhook, so a failed read keeps the known value.
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  auto config = co_await kube::Get<api::ClusterPodPlacementConfig>(client_, key);
  if (config) certificates_ = config->spec.certificates;
  if (IsNotFound(config)) certificates_.reset();
  request.by_provider = ByProvider(certificates_);
  if (request.by_provider) {
    Result<ProvidedCertificate> provided = co_await ReadProvided(
        client_, clock_, *certificates_, ns_, std::string(api::kOperatorServiceName));
    if (!provided) co_return provided.error();
    request.provided = provided->usable();
  }
  Result<IssuedCertificate> issued =
      co_await EnsureCertificate(client_, clock_, std::move(request));
  if (!issued) co_return issued.error();
  bool new_bundle = issued->ca_bundle_pem != ca_bundle_pem_;
  ca_bundle_pem_ = issued->ca_bundle_pem;
  if (new_bundle) new_bundle_.NotifyAll();
  if (issued->serving.certificate_pem == served_.certificate_pem) co_return Ok();

  Result<void> written = directory_.empty() ? Ok() : WriteFiles(issued->serving);
  if (!written) co_return written.error();
  served_ = std::move(issued->serving);
  co_return Ok();
}

Result<void> OwnCertificate::WriteFiles(const kube::KeyPair& pair) const {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return FileError(directory_);
  Result<void> written = WriteFile(key_file(), pair.private_key_pem);
  if (!written) return written;
  return WriteFile(certificate_file(), pair.certificate_pem);
}

boost::asio::awaitable<void> OwnCertificate::Run() {
  co_await kube::IgnoreCancellation();
  const auto refresh_every = std::min<kube::Duration>(kRefreshEvery, CheckPeriodOf(validity_));
  while (true) {
    Result<> slept = co_await clock_.Sleep(refresh_every);
    if (!slept) co_return;
    Result<> refreshed = co_await Refresh();
    if (!refreshed)
      LOG(WARNING) << "refresh the certificate of the operator's webhooks: " << refreshed.error();
  }
}

}  // namespace operator_
