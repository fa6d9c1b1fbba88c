#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The component `console` on the cluster of KUBECONFIG: through a forwarded port, and over TLS
behind `kubectl proxy`, with the token of a user who may view one namespace.

e2e/test.sh runs it on the kind cluster, at the root of the repository, with the operator deployed,
the images on the nodes and everything built.

  kind_flows.py [--xml FILE]
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = os.getcwd()
sys.path.insert(0, f"{ROOT}/e2e/install")  # what the operator's install flows use too

from cluster import get, kubectl, print_pods, run, wait_for
from results import run_flows
from scene import NAMESPACE

SCENE = "pod-placement-console"
CONSOLE = "pod-placement-console"
IN_NAMESPACE = f"--namespace={NAMESPACE}"
MANIFESTS = f"{ROOT}/operator/manifests/components/console/console.yaml"


@contextlib.contextmanager
def serving(pattern, *command):
    """A command that serves until the end; the value is what `pattern` finds in its output."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        try:
            for line in process.stdout:
                if found := re.search(pattern, line):
                    yield found[1]
                    return
            raise AssertionError(f"{' '.join(command)}: ended")
        finally:
            process.terminate()


def answer(address, token=""):
    """Status and body of an answer."""
    headers = {"X-Forwarded-Access-Token": token} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers),
                                    timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def in_browser(scenario, **given):
    packages = run("third_party/npm/install.sh", "console/web").strip()
    print(run("env", f"NODE_MODULES={packages}/node_modules", "node",
              "console/flows/browser/run.mjs", scenario, json.dumps(given)), flush=True)


def create_looker():
    """A user who may view one namespace. The token."""
    kubectl("create", "namespace", SCENE)
    kubectl("create", "serviceaccount", "looker", f"--namespace={SCENE}")
    kubectl("create", "rolebinding", "looker", "--clusterrole=view",
            f"--serviceaccount={SCENE}:looker", f"--namespace={SCENE}")
    return kubectl("create", "token", "looker", f"--namespace={SCENE}").strip()


def check_rights(address, token):
    status, session = answer(f"{address}api/session", token)
    assert status == 200 and session["user"] == f"system:serviceaccount:{SCENE}:looker", session
    assert "forbidden" in session["namespacesUnread"], session
    status, body = answer(f"{address}api/waiting?namespace={SCENE}", token)
    assert status == 200, body
    status, body = answer(f"{address}api/waiting?namespace=kube-system", token)
    assert status == 403 and "forbidden" in body["message"], body
    for wrong in ("", "wrong"):
        status, body = answer(f"{address}api/session", wrong)
        assert status == 401, body


def deploy():
    folder = f"{ROOT}/bazel-bin/operator/deploy/deploy.runfiles/pod_placement"
    run("operator/deploy/deploy", "--with=console", cwd=folder)
    kubectl("rollout", "status", IN_NAMESPACE, "--timeout=90s", f"deployment/{CONSOLE}")


def forwarded_port():
    deploy()
    token = create_looker()
    deployment = get("deployment", CONSOLE, IN_NAMESPACE)
    assert deployment["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    with serving(r"from 127\.0\.0\.1:(\d+)", "kubectl", "port-forward", IN_NAMESPACE,
                 f"deployment/{CONSOLE}", ":8500") as port:
        address = f"http://127.0.0.1:{port}/"
        check_rights(address, token)
        in_browser("wrongToken", address=address, token=token, namespace=SCENE)


def behind_kubectl_proxy():
    deploy()
    token = create_looker()
    with tempfile.TemporaryDirectory() as folder:
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days=1", "-subj=/CN=console", f"-keyout={folder}/key",
            f"-out={folder}/crt")
        kubectl("create", "secret", "tls", f"{CONSOLE}-tls", IN_NAMESPACE, f"--key={folder}/key",
                f"--cert={folder}/crt")
    kubectl("rollout", "restart", IN_NAMESPACE, f"deployment/{CONSOLE}")
    kubectl("rollout", "status", IN_NAMESPACE, "--timeout=90s", f"deployment/{CONSOLE}")
    service = f"api/v1/namespaces/{NAMESPACE}/services/https:{CONSOLE}:https/proxy/"
    with serving(r"on 127\.0\.0\.1:(\d+)", "kubectl", "proxy", "--port=0") as port:
        address = f"http://127.0.0.1:{port}/{service}"
        # Endpoints are published a moment after the rollout.
        wait_for("the console behind the proxy",
                 lambda: answer(f"{address}api/session", token)[0] == 200, 30)
        check_rights(address, token)
        in_browser("behindProxy", address=address, token=token, namespace=SCENE)


def clean_up():
    kubectl("delete", f"--filename={MANIFESTS}", "--ignore-not-found", "--timeout=90s")
    kubectl("delete", "secret", f"{CONSOLE}-tls", IN_NAMESPACE, "--ignore-not-found")
    kubectl("delete", "namespace", SCENE, "--ignore-not-found", "--timeout=120s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xml", help="the results in JUnit's format")
    args = parser.parse_args()
    flows = {"forwarded port": forwarded_port, "behind kubectl proxy": behind_kubectl_proxy}
    passed = run_flows("console", flows, clean_up, lambda: print_pods(NAMESPACE), args.xml)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
