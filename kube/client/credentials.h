// SPDX-License-Identifier: Apache-2.0
// Credentials: who we are to the API server at this moment. Tokens and certificates rotate under a
// running process.
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

  // Reads the files again if a minute has passed, and runs the plugin if what it said has expired.
  // Callers at the same time share one run. Old values stay in use while a file cannot be read.
  // Errors: the plugin's (repeated for some seconds before it is run again), kDeadlineExceeded,
  // kCancelled.
  Async<> Refresh(TimePoint deadline);

  // The server said 401. True if the next Refresh() may come up with something else.
  bool Reject();

  // The value for Authorization, or "".
  const std::string& authorization() const { return authorization_; }
  // Certificates to show and to trust; tls_version() changes when they do.
  const TlsOptions& tls() const { return config_.tls; }
  uint64_t tls_version() const { return tls_version_; }

 private:
  // Files into values; counts up tls_version_ if they differ.
  Result<void> ReadFiles();
  Async<> RunPlugin(TimePoint deadline);
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
