// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/fake_clouds.h"

#include <chrono>
#include <map>
#include <sstream>

#include "inspection/cloud/aws_signature.h"
#include "kube/base/base64.h"
#include "kube/base/percent.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Json;
using kube::ScriptedRequest;

const AwsCredentials kSession{.access_key_id = "ASIAFAKE",
                              .secret_access_key = "fake/secret+key",
                              .session_token = "fake-session"};

struct Answer {
  int status = 200;
  std::string body;
  std::string fields = {};
};

using Form = std::map<std::string, std::string>;

Form FormOf(const ScriptedRequest& request) {
  Form form;
  std::istringstream parts(request.body);
  for (std::string part; std::getline(parts, part, '&');) {
    size_t equals = part.find('=');
    form[part.substr(0, equals)] = kube::PercentDecode(part.substr(equals + 1)).value();
  }
  return form;
}

Answer AssumeRole(const Form& form) {
  if (form != Form{{"Action", "AssumeRoleWithWebIdentity"},
                   {"Version", "2011-06-15"},
                   {"RoleArn", kFakeRole},
                   {"RoleSessionName", "pod-placement-controller"},
                   {"DurationSeconds", "900"},
                   {"WebIdentityToken", kFakePodToken}}) {
    return {403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"};
  }
  return {200,
          "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
          "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>" +
              kSession.access_key_id + "</AccessKeyId><SecretAccessKey>" +
              kSession.secret_access_key + "</SecretAccessKey><SessionToken>" +
              kSession.session_token +
              "</SessionToken></Credentials></AssumeRoleWithWebIdentityResult>"
              "</AssumeRoleWithWebIdentityResponse>"};
}

Answer EcrToken(const ScriptedRequest& request, const std::string& host) {
  // "api.ecr.us-east-1.amazonaws.com"
  std::string region = host.substr(8, host.find('.', 8) - 8);
  kube::HttpRequest same{.method = request.method, .body = request.body};
  for (const char* name : {"Content-Type", "X-Amz-Target", "X-Amz-Date", "X-Amz-Security-Token"})
    same.headers.emplace_back(name, request.Header(name));
  AwsScope scope{.region = region, .service = "ecr"};
  std::string wanted = AwsAuthorization(kSession, scope, host, request.Header("X-Amz-Date"), same);
  if (request.Header("Authorization") != wanted ||
      request.Header("X-Amz-Security-Token") != kSession.session_token ||
      request.Header("X-Amz-Target") !=
          "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken")
    return {400, R"({"__type":"UnrecognizedClientException"})"};
  double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Json data = {{"authorizationToken", kube::Base64Encode(std::string("AWS:") + kFakeEcrPassword)},
               {"expiresAt", now + 12 * 3600},
               {"proxyEndpoint", "https://123456789012.dkr.ecr." + region + ".amazonaws.com"}};
  return {200, kube::DumpJson(Json{{"authorizationData", Json::array({data})}})};
}

Answer EntraToken(const ScriptedRequest& request, const Form& form) {
  Form wanted = {
      {"client_id", kFakeAzureClient},
      {"scope", "https://containerregistry.azure.net/.default"},
      {"grant_type", "client_credentials"},
      {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
      {"client_assertion", kFakePodToken}};
  if (form != wanted ||
      request.target != std::string("/") + kFakeAzureTenant + "/oauth2/v2.0/token")
    return {400, R"({"error":"invalid_client"})"};
  return {200, R"({"token_type":"Bearer","expires_in":3599,"access_token":"entra-token"})"};
}

Answer AcrToken(const ScriptedRequest& request, const Form& form, const std::string& host) {
  Form wanted = {{"grant_type", "access_token"},
                 {"service", host},
                 {"tenant", kFakeAzureTenant},
                 {"access_token", "entra-token"}};
  if (form != wanted || request.target != "/oauth2/exchange")
    return {401, R"({"errors":[{"code":"UNAUTHORIZED"}]})"};
  return {200, kube::DumpJson(Json{{"refresh_token", kFakeAcrRefreshToken}})};
}

Answer MetadataToken(const ScriptedRequest& request) {
  if (request.Header("Metadata-Flavor") != "Google" ||
      request.target != "/computeMetadata/v1/instance/service-accounts/default/token")
    return {403, ""};
  Json token = {{"access_token", kFakeGoogleToken}, {"expires_in", 3599}, {"token_type", "Bearer"}};
  return {200, kube::DumpJson(token), "Metadata-Flavor: Google\r\n"};
}

Answer AnswerTo(const ScriptedRequest& request, const std::string& host) {
  if (request.method == "GET") return MetadataToken(request);
  Form form = FormOf(request);
  if (host.starts_with("sts.")) return AssumeRole(form);
  if (host.starts_with("api.ecr.")) return EcrToken(request, host);
  if (host == "login.microsoftonline.com") return EntraToken(request, form);
  if (host.ends_with(".azurecr.io")) return AcrToken(request, form, host);
  return {404, ""};
}

}  // namespace

struct FakeClouds::State {
  std::vector<std::string> log;
  int status = 200;
  std::string location;
};

kube::asio::awaitable<void> FakeClouds::Serve(std::shared_ptr<State> state,
                                              kube::ScriptedPeer& peer) {
  while (true) {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    std::string host = request->Header("Host");
    state->log.push_back(host + " " + request->target);
    Answer answer = AnswerTo(*request, host);
    if (state->status != 200) {
      answer = {state->status, request->body, ""};
      if (!state->location.empty()) answer.fields = "Location: " + state->location + "\r\n";
    }
    bool sent = co_await peer.Reply(answer.status, answer.body, answer.fields);
    if (!sent) co_return;
  }
}

FakeClouds::FakeClouds(kube::Executor executor, kube::KeyPair certificate)
    : state_(std::make_shared<State>()) {
  auto serve = [state = state_](kube::ScriptedPeer& peer) { return Serve(state, peer); };
  kube::ScriptedServerOptions options;
  options.certificate = std::move(certificate);
  server_ = std::make_unique<kube::ScriptedServer>(executor, options, serve);
  kube::ScriptedServerOptions plain;
  metadata_ = std::make_unique<kube::ScriptedServer>(executor, plain, serve);
}

FakeClouds::~FakeClouds() = default;

std::string FakeClouds::port() const { return server_->url().port; }
std::string FakeClouds::metadata_host() const { return metadata_->url().Authority(); }
const std::vector<std::string>& FakeClouds::log() const { return state_->log; }

void FakeClouds::Fail(int status, const std::string& location) {
  state_->status = status;
  state_->location = location;
}

}  // namespace inspection
