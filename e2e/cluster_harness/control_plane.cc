// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/control_plane.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <set>

#include "e2e/recording/recorded_kinds.h"

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kControllerManager[] = "kube-controller-manager";
constexpr char kScheduler[] = "kube-scheduler";
constexpr std::string_view kServiceNetwork = "10.96.0.0/16";
// In --token-auth-file. Only processes in this network namespace reach the API server.
constexpr std::string_view kAdminToken = "integration-test-admin";
constexpr char kControllerToken[] = "integration-test-controllers";

// The controllers for pods, Services and namespaces. Without those that change nodes, because no
// kubelet reports for the nodes here. With that of Endpoints, by which the API server of Kubernetes
// 1.30 finds the pods of a webhook's Service.
constexpr std::string_view kControllers =
    "serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-"
    "controller,"
    "endpoints-controller,"
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

  Result<> started = Ok();
  for (size_t i = 0; started && i < plane->etcd_members(); ++i) started = plane->StartEtcd(i);
  for (size_t i = 0; started && i < plane->api_servers(); ++i)
    started = plane->StartApiServer(i, {});
  if (started && !plane->options_.only_api_server) started = plane->StartPodControllers();
  if (!started) return started.error();
  return plane;
}

ControlPlane::ControlPlane(ControlPlaneOptions options) : options_(std::move(options)) {
  const std::string& own = options_.address;
  if (options_.etcd.empty() && options_.etcd_of == nullptr) options_.etcd = {{own, own}};
  if (!options_.api_servers.empty()) return;
  ApiServerPlace place{.address = own, .etcd = {}};
  if (options_.etcd_of != nullptr) place.etcd = options_.etcd_of->options_.api_servers[0].etcd;
  for (const EtcdMember& member : options_.etcd) place.etcd.push_back(member.address);
  options_.api_servers.push_back(std::move(place));
}

std::string ControlPlane::NameOf(const std::string& program, size_t number) {
  return number == 0 ? program : program + "-" + std::to_string(number);
}

const std::string& ControlPlane::host() const {
  return options_.clients_address.empty() ? options_.api_servers.front().address
                                          : options_.clients_address;
}

const std::string& ControlPlane::host_for_pods() const {
  return options_.pods_address.empty() ? host() : options_.pods_address;
}

std::string ControlPlane::audit_log(size_t api_server) const {
  return options_.folder + "/" + NameOf("audit", api_server) + ".log";
}

Result<> ControlPlane::StartEtcd(size_t member) {
  const std::string name = EtcdName(member);
  const EtcdMember& own = options_.etcd[member];
  const std::string client_url = "http://" + own.address + ":2379";
  std::vector<std::string> args = {"--data-dir=" + options_.folder + "/" + name,
                                   // The data need not survive a power failure.
                                   "--unsafe-no-fsync", "--listen-client-urls=" + client_url,
                                   "--advertise-client-urls=" + client_url,
                                   "--listen-peer-urls=http://" + own.address + ":2380"};
  if (etcd_members() > 1) {
    std::string members;
    for (size_t i = 0; i < etcd_members(); ++i) {
      members +=
          (i == 0 ? "" : ",") + EtcdName(i) + "=http://" + options_.etcd[i].peer_address + ":2380";
    }
    args.push_back("--name=" + name);
    args.push_back("--initial-cluster=" + members);
    args.push_back("--initial-advertise-peer-urls=http://" + own.peer_address + ":2380");
  }
  return StartProgram(name, std::move(args));
}

Result<> ControlPlane::StartPodControllers() {
  std::string kubeconfig = admin_kubeconfig();
  Result<> started = StartProgram(
      kControllerManager, {"--kubeconfig=" + options_.folder + "/controllers.kubeconfig",
                           "--leader-elect=false", "--controllers=" + std::string(kControllers),
                           "--service-account-private-key-file=" + options_.folder + "/sa.key",
                           "--root-ca-file=" + ca_file(), "--kube-api-qps=300",
                           "--kube-api-burst=600", "--bind-address=" + options_.address});
  if (!started) return started;
  return StartProgram(kScheduler,
                      {"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--kube-api-qps=300",
                       "--kube-api-burst=600", "--bind-address=" + options_.address});
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

  std::vector<std::string> server = {"req",     "-x509",
                                     "-days",   "2",
                                     "-subj",   "/CN=kube-apiserver",
                                     "-CA",     ca_file(),
                                     "-CAkey",  folder + "/ca.key",
                                     "-keyout", folder + "/apiserver.key",
                                     "-out",    folder + "/apiserver.crt",
                                     "-addext", "subjectAltName=" + ServerNames(),
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

std::string ControlPlane::ServerNames() const {
  std::set<std::string> addresses = {host(), host_for_pods(), "10.96.0.1"};
  for (const ApiServerPlace& place : options_.api_servers) addresses.insert(place.address);
  std::string names = "DNS:kubernetes.default.svc";
  for (const std::string& address : addresses) names += ",IP:" + address;
  return names;
}

Result<> ControlPlane::WriteKubeconfig(const std::string& path,
                                       const std::string& token_file) const {
  return WriteKubeconfig(path, token_file, url());
}

Result<> ControlPlane::WritePodKubeconfig(const std::string& path,
                                          const std::string& token_file) const {
  return WriteKubeconfig(path, token_file,
                         "https://" + host_for_pods() + ":" + std::to_string(port()));
}

Result<> ControlPlane::WriteKubeconfig(const std::string& path, const std::string& token_file,
                                       const std::string& server) const {
  Json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "test"},
      {"clusters",
       {{{"name", "test"},
         {"cluster", {{"server", server}, {"certificate-authority", ca_file()}}}}}},
      {"users", {{{"name", "test"}, {"user", {{"tokenFile", token_file}}}}}},
      {"contexts", {{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}}},
  };
  return WriteFile(path, kube::PrettyJson(config));
}

Result<> ControlPlane::StartProgram(const std::string& name, std::vector<std::string> args) {
  // The names of numbered programs end with "-1".
  std::string program = name;
  if (std::isdigit(static_cast<unsigned char>(name.back()))) program.resize(name.rfind('-'));
  arguments_[name] = std::move(args);
  auto started = ChildProcess::Start({.path = options_.assets + "/" + program,
                                      .args = arguments_[name],
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
  return StartApiServer(0, admission);
}

Result<> ControlPlane::StartApiServer(size_t number, const std::map<std::string, Json>& admission) {
  const std::string& folder = options_.folder;
  const ApiServerPlace& place = options_.api_servers[number];
  std::string etcd;
  for (const std::string& address : place.etcd)
    etcd += (etcd.empty() ? "http://" : ",http://") + address + ":2379";
  std::vector<std::string> args = {
      "--etcd-servers=" + etcd,
      "--etcd-prefix=/" + (options_.etcd_of == nullptr ? "registry" : host()),
      "--bind-address=" + place.address,
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
  args.insert(args.end(), options_.api_server_args.begin(), options_.api_server_args.end());
  if (options_.audit) {
    Result<> written = WriteAuditPolicy();
    if (!written) return written;
    args.push_back("--audit-policy-file=" + folder + "/audit-policy.json");
    args.push_back("--audit-log-path=" + audit_log(number));
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
  return StartProgram(ApiServerName(number), std::move(args));
}

Result<> ControlPlane::Kill(const std::string& program) {
  if (programs_.erase(program) == 0) return Error::NotFound(program + " is not running");
  return Ok();
}

Result<> ControlPlane::Restart(const std::string& program) {
  auto arguments = arguments_.find(program);
  if (arguments == arguments_.end()) return Error::NotFound(program + " was never started");
  programs_.erase(program);
  return StartProgram(program, std::vector(arguments->second));
}

Result<> ControlPlane::Signal(const std::string& program, int signal) {
  auto found = programs_.find(program);
  if (found == programs_.end()) return Error::NotFound(program + " is not running");
  found->second->Signal(signal);
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

std::vector<std::string> ControlPlane::Ended() {
  std::vector<std::string> ended;
  for (auto& [name, program] : programs_) {
    if (program->ExitStatus()) ended.push_back(name);
  }
  return ended;
}

Result<> ControlPlane::RestartControllers() {
  for (const std::string& program : Ended()) {
    if (program != kControllerManager && program != kScheduler) continue;
    Result<> started = Restart(program);
    if (!started) return started;
  }
  return Ok();
}

std::map<std::string, pid_t> ControlPlane::Pids() const {
  std::map<std::string, pid_t> pids;
  for (const auto& [name, program] : programs_) pids[name] = program->pid();
  return pids;
}

}  // namespace e2e
