// SPDX-License-Identifier: Apache-2.0
// Credentials: the current credentials for the API server. Tokens and certificates rotate while the
// process runs.
//
//   Result<> ready = co_await credentials.Refresh(deadline);
//   request.headers.emplace_back("Authorization", credentials.authorization());
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client_config.h"
#include "kube/client/exec_plugin.h"

namespace kube {

class Credentials {
 public:
  // `clock` must outlive this.
  Credentials(Executor executor, Clock& clock, ClientConfig config);

  // Reads the files for the first time. Errors: kNotFound, kInvalid; they name the file.
  Result<void> Load();

  // Reads the files again after a minute, runs the plugin if its credential has expired. Concurrent
  // callers share one run. The old values stay in use while a file cannot be read.
  // Errors: the plugin's (returned for some seconds before the next run), kDeadlineExceeded,
  // kCancelled.
  Async<> Refresh(TimePoint deadline);
  // False if Refresh() would have nothing to do, as for most calls.
  bool RefreshIsDue() const { return FilesAreDue() || PluginIsDue(); }

  // Reports a 401 of the server. True if the next Refresh() may yield other credentials.
  bool Reject();

  // The value of the Authorization header, or "".
  const std::string& authorization() const { return authorization_; }
  // The client certificate and trusted CAs; tls_version() changes with them.
  const TlsOptions& tls() const { return config_.tls; }
  uint64_t tls_version() const { return tls_version_; }

 private:
  // Increments tls_version_ if certificates changed.
  Result<void> ReadFiles();
  Async<> RunPlugin(TimePoint deadline);
  bool FilesAreDue() const;
  bool PluginIsDue() const;
  void SetToken(const std::string& token);

  Clock& clock_;
  ClientConfig config_;
  std::string authorization_;
  uint64_t tls_version_ = 1;
  TimePoint files_read_at_{};

  std::optional<ExecCredential> plugin_;
  bool plugin_running_ = false;
  std::optional<Error> plugin_failure_;
  TimePoint plugin_failed_at_{};
  asio::steady_timer plugin_done_;
};

}  // namespace kube
