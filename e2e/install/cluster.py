# SPDX-License-Identifier: Apache-2.0
"""The cluster of KUBECONFIG, by kubectl."""

import json
import subprocess
import time

# Their names are generated or follow from other objects: "pods", "events.events.k8s.io".
GENERATED = ("pods", "replicasets", "endpointslices", "endpoints", "ipaddresses", "events")


def run(*command, text="", check=True, cwd=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=cwd)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def kubectl(*arguments, **kwargs):
    return run("kubectl", *arguments, **kwargs)


def get(*arguments):
    return json.loads(kubectl("get", "--output=json", *arguments))


def wait_for(what, holds, seconds=120):
    """Waits until `holds()` is true, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.5)


def wait_for_none(what, find, seconds=120):
    """Waits until `find()` returns nothing."""
    found = []

    def none():
        found[:] = find()
        return not found

    try:
        wait_for(f"no {what}", none, seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}: {found}") from error


def apply_when_reached(text):
    """Applies objects that webhooks validate. Nodes have the rules of a new webhook's Service a
    moment after its pods are ready."""
    def reached():
        try:
            return kubectl("apply", "--filename=-", text=text)
        except AssertionError as error:
            if "failed to call webhook" not in str(error):
                raise
            print(error, flush=True)
            return None

    wait_for("the operator's webhooks are reached", reached)


def objects():
    """"KIND NAMESPACE/NAME" of every object of the cluster, but those with generated names."""
    kinds = kubectl("api-resources", "--verbs=list,delete", "--output=name").split()
    kinds = [kind for kind in kinds if kind.split(".")[0] not in GENERATED]
    line = r'{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}'
    lines = kubectl("get", ",".join(kinds), "--all-namespaces",
                    f"--output=jsonpath={{range .items[*]}}{line}{{end}}").splitlines()
    # Helm writes one for each revision.
    return {name for name in lines if "/sh.helm.release." not in name}


def print_pods(*namespaces):
    """Prints pods, events and ends of logs, for the reader of a failure."""
    for namespace in namespaces:
        scope = f"--namespace={namespace}"
        print(f"--- pods and events of {namespace}")
        print(kubectl("get", "pods", "--output=wide", scope, check=False))
        events = kubectl("get", "events", "--sort-by=.lastTimestamp", scope, check=False)
        print("\n".join(events.splitlines()[-30:]))
        for pod in kubectl("get", "pods", "--output=name", scope, check=False).split():
            for instance in ("--previous=true", "--previous=false"):
                print(f"--- {pod} {instance}")
                print(kubectl("logs", pod, scope, instance, "--all-containers", "--tail=40",
                              check=False), flush=True)
