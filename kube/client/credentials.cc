// SPDX-License-Identifier: Apache-2.0
#include "kube/client/credentials.h"

#include <glog/logging.h>

#include <algorithm>

#include "kube/base/base64.h"
#include "kube/client/read_file.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadFilesEvery = 60s;
constexpr std::chrono::milliseconds kPluginTimeout = 30s;
// A failing plugin is not run for every call.
constexpr auto kPluginBackoff = 5s;
// Renews a credential before it expires: clocks differ and calls take time.
constexpr auto kExpirySkew = 10s;

std::string Trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

// Reads the file at `path` into `value`, unless `path` is empty. Sets `changed` if `value` changes.
Result<void> ReadInto(const std::string& path, const char* field, std::string& value,
                      bool& changed) {
  if (path.empty()) return Ok();
  Result<std::string> text = ReadFile(path);
  if (!text) return text.error().Prefix(field);
  changed |= *text != value;
  value = std::move(*text);
  return Ok();
}

}  // namespace

Credentials::Credentials(Executor executor, Clock& clock, ClientConfig config)
    : clock_(clock), config_(std::move(config)), plugin_done_(executor) {
  SetToken(config_.token);
}

void Credentials::SetToken(const std::string& token) {
  if (!token.empty()) {
    authorization_ = "Bearer " + token;
  } else if (!config_.username.empty()) {
    authorization_ = "Basic " + Base64Encode(config_.username + ":" + config_.password);
  } else {
    authorization_.clear();
  }
}

Result<void> Credentials::Load() { return ReadFiles(); }

Result<void> Credentials::ReadFiles() {
  files_read_at_ = clock_.Now();
  // All or nothing: a new certificate does not work with the old key.
  TlsOptions tls = config_.tls;
  std::string token;
  bool changed = false;
  bool ignored = false;
  Result<void> read = ReadInto(config_.ca_file, "certificate authority", tls.ca_pem, changed);
  if (read) read = ReadInto(config_.cert_file, "client certificate", tls.cert_pem, changed);
  if (read) read = ReadInto(config_.key_file, "client key", tls.key_pem, changed);
  if (read) read = ReadInto(config_.token_file, "token", token, ignored);
  if (!read) return read.error();
  if (!config_.token_file.empty()) SetToken(Trim(std::move(token)));
  if (changed) {
    config_.tls = std::move(tls);
    ++tls_version_;
  }
  return Ok();
}

bool Credentials::PluginIsDue() const {
  if (!config_.exec) return false;
  return !plugin_ || (plugin_->expires && clock_.WallNow() + kExpirySkew >= *plugin_->expires);
}

bool Credentials::FilesAreDue() const { return clock_.Now() - files_read_at_ >= kReadFilesEvery; }

Async<> Credentials::Refresh(TimePoint deadline) {
  if (FilesAreDue()) {
    Result<void> read = ReadFiles();
    if (!read)
      LOG(WARNING) << "cannot read the credentials, keeping the old ones: " << read.error();
  }
  if (!PluginIsDue()) co_return Ok();
  Result<> run = co_await RunPlugin(deadline);
  co_return run;
}

Async<> Credentials::RunPlugin(TimePoint deadline) {
  co_await IgnoreCancellation();
  // Wait for a run of another caller.
  while (plugin_running_) {
    if (clock_.Now() >= deadline) co_return Error::DeadlineExceeded("credential plugin");
    auto waited = co_await plugin_done_.async_wait(kTuple);
    (void)waited;
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
      co_return Error::Cancelled("credential plugin");
  }
  if (!PluginIsDue()) co_return Ok();
  if (plugin_failure_ && clock_.Now() - plugin_failed_at_ < kPluginBackoff)
    co_return *plugin_failure_;

  // Run the plugin and wake the waiting callers at the end, also when this coroutine is destroyed.
  struct Running {
    explicit Running(Credentials& self) : self(self) {
      self.plugin_running_ = true;
      self.plugin_done_.expires_after(kPluginTimeout);
    }
    ~Running() {
      self.plugin_running_ = false;
      self.plugin_done_.cancel();
    }
    Credentials& self;
  };
  Running running(*this);
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Now());
  ClientConfig config = config_;
  Result<ExecCredential> credential =
      co_await RunExecPlugin(std::move(config), std::min(left, kPluginTimeout));
  if (!credential) {
    if (credential.error().code() == Code::kCancelled) co_return credential.error();
    plugin_failure_ = credential.error();
    plugin_failed_at_ = clock_.Now();
    co_return credential.error();
  }

  plugin_failure_.reset();
  plugin_ = std::move(*credential);
  SetToken(plugin_->token);
  if (!plugin_->cert_pem.empty() && plugin_->cert_pem != config_.tls.cert_pem) {
    config_.tls.cert_pem = plugin_->cert_pem;
    config_.tls.key_pem = plugin_->key_pem;
    ++tls_version_;
  }
  co_return Ok();
}

bool Credentials::Reject() {
  if (config_.exec) {
    plugin_.reset();
    return true;
  }
  if (config_.token_file.empty()) return false;
  std::string refused = authorization_;
  Result<void> read = ReadFiles();
  return read && authorization_ != refused;
}

}  // namespace kube
