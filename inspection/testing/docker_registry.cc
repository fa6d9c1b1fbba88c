// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/docker_registry.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "inspection/base/digest.h"
#include "kube/base/clock.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

// bcrypt of "secret".
constexpr char kHtpasswd[] = "u:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

std::string WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

std::string PathOf(RegistryProgram program) {
  if (program == RegistryProgram::kDebian) return "/usr/bin/docker-registry";
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  return assets == nullptr ? "" : std::string(assets) + "/distribution";
}

// The members of a platform, as an index entry and an image config have them.
std::string MembersOf(const Platform& platform) {
  std::string members =
      R"("os":")" + platform.os + R"(","architecture":")" + platform.architecture + "\"";
  if (platform.amd64_level > 0)
    members += R"(,"variant":"v)" + std::to_string(platform.amd64_level) + "\"";
  return members;
}

}  // namespace

std::string NameOf(RegistryProgram program) {
  return program == RegistryProgram::kDebian ? "DebiansRegistry" : "Distribution3";
}

bool IsInstalled(RegistryProgram program) { return std::filesystem::exists(PathOf(program)); }

std::string HowToInstall(RegistryProgram program) {
  return program == RegistryProgram::kDebian
             ? "SKIPPED: Debian's package docker-registry is not installed"
             : "SKIPPED: KUBEBUILDER_ASSETS has no `distribution`; e2e/cluster/build-tools.sh "
               "builds it";
}

DockerRegistry::DockerRegistry(DockerRegistryOptions options) {
  const std::string& folder = options.folder;
  std::filesystem::create_directories(folder);
  std::string tls;
  if (options.certificate) {
    tls = ", tls: {certificate: " +
          WriteFile(folder + "/cert.pem", options.certificate->certificate_pem) +
          ", key: " + WriteFile(folder + "/key.pem", options.certificate->private_key_pem);
    if (!options.client_ca_pem.empty()) {
      tls += ", clientcas: [" + WriteFile(folder + "/clients.pem", options.client_ca_pem) + "]";
    }
    tls += "}";
  }
  std::string auth;
  if (options.password) {
    auth = "auth: {htpasswd: {realm: test, path: " + WriteFile(folder + "/htpasswd", kHtpasswd) +
           "}}\n";
  } else if (!options.token_realm.empty()) {
    auth = "auth: {token: {realm: '" + options.token_realm +
           "', service: test, issuer: test, rootcertbundle: " +
           WriteFile(folder + "/tokens.pem", options.token_certificate_pem) + "}}\n";
  }
  std::string proxy;
  if (!options.remote_url.empty()) proxy = "proxy: {remoteurl: '" + options.remote_url + "'}\n";
  std::string config = WriteFile(
      folder + "/config.yml",
      "version: 0.1\nstorage: {filesystem: {rootdirectory: " + options.storage +
          "}}\nhttp: {addr: '127.0.0.1:" + options.port + "'" + tls + "}\n" + auth + proxy);
  // It logs every request, and blocks when its output is not read: only the line with its port is
  // let through. Without the variable, distribution 3 looks for a collector of traces.
  constexpr char kScript[] =
      "export OTEL_TRACES_EXPORTER=none; exec \"$0\" serve \"$1\" > >(exec grep --line-buffered "
      "'listening on') 2>&1";
  process_ = std::make_unique<kube::Subprocess>(
      "/bin/bash", std::vector<std::string>{"-c", kScript, PathOf(options.program), config});

  constexpr std::string_view kListening = "listening on 127.0.0.1:";
  constexpr std::string_view kDigits = "0123456789";
  EXPECT_TRUE(process_->WaitForOutput(std::string(kListening))) << process_->output();
  size_t at = process_->output().find(kListening) + kListening.size();
  port_ = process_->output().substr(at, process_->output().find_first_not_of(kDigits, at) - at);
}

Publisher::Publisher(kube::asio::io_context& io, const std::string& port, std::string authorization)
    : io_(io), authorization_(std::move(authorization)) {
  kube::Origin origin{.scheme = "http", .host = "127.0.0.1", .port = port};
  pool_ = kube::HttpPool::New(io_.get_executor(), kube::RealClock(), origin, {});
}

kube::HttpResponse Publisher::Send(std::string method, std::string target, std::string body,
                                   std::string_view type) {
  kube::HttpRequest request{
      .method = std::move(method), .target = std::move(target), .body = std::move(body)};
  if (!authorization_.empty()) request.headers.emplace_back("Authorization", authorization_);
  request.headers.emplace_back("Content-Type", std::string(type));
  kube::Result<kube::HttpResponse> response = kube::Run(io_, pool_->Call(std::move(request)));
  EXPECT_TRUE(response) << response.error();
  return response ? *response : kube::HttpResponse();
}

std::string Publisher::PushBlob(const std::string& repository, const std::string& content) {
  std::string digest = Sha256Digest(content);
  std::string location(
      Send("POST", "/v2/" + repository + "/blobs/uploads/", "", "").Header("Location"));
  EXPECT_NE(location.find("/v2/"), std::string::npos);
  std::string target =
      location.substr(std::min(location.find("/v2/"), location.size())) + "&digest=" + digest;
  EXPECT_EQ(Send("PUT", target, content, "application/octet-stream").status, 201);
  return digest;
}

std::string Publisher::PushManifest(const std::string& repository, const std::string& tag,
                                    const std::string& content, std::string_view type) {
  std::string digest = Sha256Digest(content);
  kube::HttpResponse response = Send(
      "PUT", "/v2/" + repository + "/manifests/" + (tag.empty() ? digest : tag), content, type);
  EXPECT_EQ(response.status, 201) << repository << ":" << tag << " " << response.body;
  return digest;
}

std::string Publisher::PushImage(const std::string& repository, const std::string& tag,
                                 const Platform& platform, std::string_view type,
                                 const std::string& labels) {
  std::string config = "{" + MembersOf(platform) + R"(,"config":{"Labels":)" + labels +
                       R"(},"rootfs":{"type":"layers","diff_ids":[]}})";
  std::string config_type = type == kOciManifest ? "application/vnd.oci.image.config.v1+json"
                                                 : "application/vnd.docker.container.image.v1+json";
  std::string manifest = R"({"schemaVersion":2,"mediaType":")" + std::string(type) +
                         R"(","config":{"mediaType":")" + config_type + R"(","digest":")" +
                         PushBlob(repository, config) + R"(","size":)" +
                         std::to_string(config.size()) + R"(},"layers":[]})";
  return PushManifest(repository, tag, manifest, type);
}

std::string Publisher::PushIndex(const std::string& repository, const std::string& tag,
                                 const std::vector<std::string>& entries, std::string_view type) {
  std::string list;
  for (const std::string& entry : entries) list += (list.empty() ? "" : ",") + entry;
  return PushManifest(repository, tag,
                      R"({"schemaVersion":2,"mediaType":")" + std::string(type) +
                          R"(","manifests":[)" + list + "]}",
                      type);
}

std::string Publisher::PushEntry(const std::string& repository, const Platform& platform,
                                 std::string_view type, const std::string& more) {
  std::string digest = PushImage(repository, "", platform, type);
  return R"({"mediaType":")" + std::string(type) + R"(","size":1,"digest":")" + digest +
         R"(","platform":{)" + MembersOf(platform) + "}" + more + "}";
}

}  // namespace inspection
