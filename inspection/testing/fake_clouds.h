// SPDX-License-Identifier: Apache-2.0
// FakeClouds: stand-ins for the token servers of clouds, on 127.0.0.1 and on the test's event loop,
// which speak the documented protocols and check what they are sent:
//
//   sts.REGION.amazonaws.com, api.ecr.REGION.amazonaws.com   (AssumeRoleWithWebIdentity;
//                                                             GetAuthorizationToken with SigV4)
//   the metadata server of Google                            (plain HTTP)
//   login.microsoftonline.com, NAME.azurecr.io               (client assertion; /oauth2/exchange)
//
//   FakeClouds clouds(io.get_executor(), certificate);
//   proxy.Route("sts.us-east-1.amazonaws.com", clouds.port());
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace inspection {

// What the stand-ins accept and issue.
inline constexpr char kFakeRole[] = "arn:aws:iam::123456789012:role/pod-placement";
inline constexpr char kFakePodToken[] = "pod-token";
inline constexpr char kFakeEcrPassword[] = "ecr-password";
inline constexpr char kFakeGoogleToken[] = "google-token";
inline constexpr char kFakeAzureTenant[] = "11111111-2222-3333-4444-555555555555";
inline constexpr char kFakeAzureClient[] = "66666666-7777-8888-9999-000000000000";
inline constexpr char kFakeAcrRefreshToken[] = "acr-refresh-token";

class FakeClouds {
 public:
  // `certificate` is for all hosts above that the test routes here.
  FakeClouds(kube::Executor executor, kube::KeyPair certificate);
  ~FakeClouds();

  std::string port() const;
  // "127.0.0.1:PORT", for GCE_METADATA_HOST.
  std::string metadata_host() const;
  // Requests in order: "sts.us-east-1.amazonaws.com AssumeRoleWithWebIdentity".
  const std::vector<std::string>& log() const;
  // From now on all token servers answer with this status and location.
  void Fail(int status, const std::string& location = "");

 private:
  struct State;
  static kube::asio::awaitable<void> Serve(std::shared_ptr<State> state, kube::ScriptedPeer& peer);

  std::shared_ptr<State> state_;
  std::unique_ptr<kube::ScriptedServer> server_;
  std::unique_ptr<kube::ScriptedServer> metadata_;
};

}  // namespace inspection
