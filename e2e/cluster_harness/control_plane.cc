// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/control_plane.h"

#include <cstdio>
#include <fstream>

#include "e2e/recording/recorded_kinds.h"

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

constexpr std::string_view kServiceNetwork = "10.96.0.0/16";
// In --token-auth-file. Only processes in this network namespace reach the API server.
constexpr std::string_view kAdminToken = "integration-test-admin";
constexpr char kControllerToken[] = "integration-test-controllers";

// The controllers for pods, Services and namespaces. Without those that change nodes, because no
// kubelet reports for the nodes here.
constexpr std::string_view kControllers =
    "serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-"
    "controller,"
    "endpointslice-controller,namespace-controller,garbage-collector-controller,pod-garbage-"
    "collector-controller,"
    "resourcequota-controller,deployment-controller,replicaset-controller,daemonset-controller,"
    "statefulset-controller,job-controller,disruption-controller,clusterrole-aggregation-"
    "controller";

Result<> OpenSsl(std::vector<std::string> args) {
  Result<Finished> finished = RunToEnd({.path = "openssl", .args = std::move(args)});
  if (!finished) return finished.error();
  if (finished->status != 0) return Error::Unavailable("openssl: " + finished->output);
  return Ok();
}

}  // namespace

Result<> WriteFile(const std::string& path, const std::string& text) {
  std::string temporary = path + ".new";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0)
    return Error::Unavailable("cannot write " + path);
  return Ok();
}

Result<std::unique_ptr<ControlPlane>> ControlPlane::Start(ControlPlaneOptions options) {
  std::unique_ptr<ControlPlane> plane(new ControlPlane(std::move(options)));
  Result<> keys = plane->MakeKeys();
  if (!keys) return keys.error().Prefix("keys of the control plane");

  Result<> started = plane->options_.etcd_of == nullptr ? plane->StartEtcd() : Ok();
  if (started) started = plane->StartApiServer();
  if (started && !plane->options_.only_api_server) started = plane->StartPodControllers();
  if (!started) return started.error();
  return plane;
}

std::string ControlPlane::EtcdUrl() const {
  return options_.etcd_of != nullptr ? options_.etcd_of->EtcdUrl() : "http://" + host() + ":2379";
}

Result<> ControlPlane::StartEtcd() {
  return StartProgram("etcd", {"--data-dir=" + options_.folder + "/etcd",
                               // The data need not survive a power failure.
                               "--unsafe-no-fsync", "--listen-client-urls=" + EtcdUrl(),
                               "--advertise-client-urls=" + EtcdUrl(),
                               "--listen-peer-urls=http://" + host() + ":2380"});
}

Result<> ControlPlane::StartPodControllers() {
  std::string kubeconfig = admin_kubeconfig();
  Result<> started =
      StartProgram("kube-controller-manager",
                   {"--kubeconfig=" + options_.folder + "/controllers.kubeconfig",
                    "--leader-elect=false", "--controllers=" + std::string(kControllers),
                    "--service-account-private-key-file=" + options_.folder + "/sa.key",
                    "--root-ca-file=" + ca_file(), "--kube-api-qps=300", "--kube-api-burst=600",
                    "--bind-address=" + host()});
  if (!started) return started;
  return StartProgram("kube-scheduler",
                      {"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--kube-api-qps=300",
                       "--kube-api-burst=600", "--bind-address=" + host()});
}

Result<> ControlPlane::MakeKeys() {
  const std::string& folder = options_.folder;
  const std::vector<std::string> new_key = {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                                            "-nodes"};

  std::vector<std::string> ca = {"req",     "-x509",
                                 "-days",   "2",
                                 "-subj",   "/CN=integration-test-ca",
                                 "-keyout", folder + "/ca.key",
                                 "-out",    ca_file()};
  ca.insert(ca.end(), new_key.begin(), new_key.end());
  Result<> made = OpenSsl(ca);
  if (!made) return made;

  std::vector<std::string> server = {
      "req",     "-x509",
      "-days",   "2",
      "-subj",   "/CN=kube-apiserver",
      "-CA",     ca_file(),
      "-CAkey",  folder + "/ca.key",
      "-keyout", folder + "/apiserver.key",
      "-out",    folder + "/apiserver.crt",
      "-addext", "subjectAltName=IP:" + host() + ",IP:10.96.0.1,DNS:kubernetes.default.svc",
      "-addext", "basicConstraints=critical,CA:FALSE"};
  server.insert(server.end(), new_key.begin(), new_key.end());
  made = OpenSsl(server);
  if (!made) return made;

  made =
      OpenSsl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder + "/sa.key"});
  if (!made) return made;

  made = WriteFile(folder + "/tokens.csv",
                   std::string(kAdminToken) + ",integration-test,1,\"system:masters\"\n" +
                       kControllerToken + ",system:kube-controller-manager,2,\"system:masters\"\n");
  if (!made) return made;
  made = WriteFile(folder + "/admin.token", std::string(kAdminToken));
  if (!made) return made;
  made = WriteFile(folder + "/controllers.token", std::string(kControllerToken));
  if (!made) return made;
  made = WriteKubeconfig(folder + "/controllers.kubeconfig", folder + "/controllers.token");
  if (!made) return made;
  return WriteKubeconfig(admin_kubeconfig(), folder + "/admin.token");
}

Result<> ControlPlane::WriteKubeconfig(const std::string& path,
                                       const std::string& token_file) const {
  Json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "test"},
      {"clusters",
       {{{"name", "test"},
         {"cluster", {{"server", url()}, {"certificate-authority", ca_file()}}}}}},
      {"users", {{{"name", "test"}, {"user", {{"tokenFile", token_file}}}}}},
      {"contexts", {{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}}},
  };
  return WriteFile(path, kube::PrettyJson(config));
}

Result<> ControlPlane::StartProgram(const std::string& name, std::vector<std::string> args) {
  auto started = ChildProcess::Start({.path = options_.assets + "/" + name,
                                      .args = std::move(args),
                                      .log_file = options_.folder + "/" + name + ".log"});
  if (!started) return started.error();
  programs_[name] = std::move(*started);
  return Ok();
}

Result<> ControlPlane::WriteAuditPolicy() {
  // Watches are logged when they start, because most are open when the log is read; other requests
  // with their response.
  const Json users = Json::array({"system:serviceaccounts"});
  Json watches = {{"level", "Metadata"},
                  {"userGroups", users},
                  {"verbs", {"watch"}},
                  {"omitStages", {"RequestReceived", "ResponseComplete"}}};
  Json others = {{"level", "Metadata"},
                 {"userGroups", users},
                 {"omitStages", {"RequestReceived", "ResponseStarted"}}};
  Json rules = Json::array({watches, others, {{"level", "None"}}});
  // The first rule that matches decides.
  if (options_.record_writes) rules.insert(rules.begin(), AuditRuleForRecordings());
  Json policy = {{"apiVersion", "audit.k8s.io/v1"},
                 {"kind", "Policy"},
                 {"omitManagedFields", true},
                 {"rules", std::move(rules)}};
  return WriteFile(options_.folder + "/audit-policy.json", kube::PrettyJson(policy));
}

Result<> ControlPlane::StartApiServer(const std::map<std::string, Json>& admission) {
  const std::string& folder = options_.folder;
  std::vector<std::string> args = {
      "--etcd-servers=" + EtcdUrl(),
      "--etcd-prefix=/" + (options_.etcd_of == nullptr ? "registry" : host()),
      "--bind-address=" + host(),
      "--secure-port=" + std::to_string(port()),
      // Not used, but a loopback address is refused.
      "--advertise-address=10.250.255.254",
      "--endpoint-reconciler-type=none",
      "--enable-aggregator-routing",
      "--service-cluster-ip-range=" + std::string(kServiceNetwork),
      "--tls-cert-file=" + folder + "/apiserver.crt",
      "--tls-private-key-file=" + folder + "/apiserver.key",
      "--token-auth-file=" + folder + "/tokens.csv",
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=" + folder + "/sa.key",
      "--service-account-signing-key-file=" + folder + "/sa.key",
      // It taints new nodes as not ready, and only the node lifecycle controller removes the taint.
      "--disable-admission-plugins=TaintNodesByCondition",
      "--allow-privileged=true",
  };
  if (options_.audit) {
    Result<> written = WriteAuditPolicy();
    if (!written) return written;
    args.push_back("--audit-policy-file=" + folder + "/audit-policy.json");
    args.push_back("--audit-log-path=" + audit_log());
    // In megabytes; a complete run of the integration tier needs a tenth.
    args.push_back(options_.record_writes ? "--audit-log-maxsize=5000" : "--audit-log-maxsize=500");
    args.push_back("--audit-log-maxbackup=1");
  }
  if (!admission.empty()) {
    Json configuration = {{"apiVersion", "apiserver.config.k8s.io/v1"},
                          {"kind", "AdmissionConfiguration"}};
    for (const auto& [plugin, of_plugin] : admission)
      configuration["plugins"].push_back({{"name", plugin}, {"configuration", of_plugin}});
    Result<> written = WriteFile(folder + "/admission.json", kube::PrettyJson(configuration));
    if (!written) return written;
    args.push_back("--admission-control-config-file=" + folder + "/admission.json");
  }
  return StartProgram("kube-apiserver", std::move(args));
}

Result<> ControlPlane::KillApiServer() {
  auto api_server = programs_.find("kube-apiserver");
  if (api_server == programs_.end()) return Error::NotFound("the API server is not running");
  programs_.erase(api_server);
  return Ok();
}

Result<> ControlPlane::SignalApiServer(int signal) {
  auto api_server = programs_.find("kube-apiserver");
  if (api_server == programs_.end()) return Error::NotFound("the API server is not running");
  api_server->second->Signal(signal);
  return Ok();
}

Result<> ControlPlane::AllRun() {
  for (auto& [name, program] : programs_) {
    std::optional<int> status = program->ExitStatus();
    if (status) {
      return Error::Unavailable(name + " ended with status " + std::to_string(*status) + ": " +
                                TailOfFile(options_.folder + "/" + name + ".log"));
    }
  }
  return Ok();
}

std::map<std::string, pid_t> ControlPlane::Pids() const {
  std::map<std::string, pid_t> pids;
  for (const auto& [name, program] : programs_) pids[name] = program->pid();
  return pids;
}

}  // namespace e2e
