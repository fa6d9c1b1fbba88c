// SPDX-License-Identifier: Apache-2.0
// The columns of workloads, on the page and in the file.

import type { Workload } from "../api/answers";
import { describeCount, describeCpu, describeGib } from "../pure/amounts";
import { describeReason, describeRunsOn } from "../pure/workloads";
import { Badge } from "./badge";
import type { Column } from "./column";
import { lookOf } from "./fates";

export function workloadColumns(architecture: string): Column<Workload>[] {
  return [
    {
      id: "namespace",
      title: "Namespace",
      width: "minmax(0, 1fr)",
      text: (one) => one.namespace,
      sortKey: (one) => one.namespace,
    },
    {
      id: "workload",
      title: "Workload",
      width: "minmax(0, 1.6fr)",
      narrow: "minmax(0, 1fr)",
      text: (one) => `${one.kind} ${one.name}`,
      sortKey: (one) => one.name,
      render: (one) => (
        <>
          {one.name} <span class="muted">{one.kind}</span>
        </>
      ),
    },
    {
      id: "fate",
      title: `On ${architecture}`,
      width: "9.5rem",
      narrow: "9.5rem",
      text: (one) => one.fate,
      sortKey: (one) => one.fate,
      render: (one) => <Badge tone={lookOf(one.fate).tone}>{one.fate}</Badge>,
    },
    {
      id: "pods",
      title: "Pods",
      width: "5.5rem",
      narrow: "5.5rem",
      text: (one) => describeCount(one.pods),
      sortKey: (one) => one.pods,
      isNumber: true,
    },
    {
      id: "cpu",
      title: "CPU",
      width: "5rem",
      text: (one) => describeCpu(one.requests.cpu),
      sortKey: (one) => one.requests.cpu ?? 0,
      isNumber: true,
    },
    {
      id: "memory",
      title: "GiB",
      width: "5rem",
      text: (one) => describeGib(one.requests.memoryBytes),
      sortKey: (one) => one.requests.memoryBytes ?? 0,
      isNumber: true,
    },
    {
      id: "runsOn",
      title: "Runs on",
      width: "minmax(0, 1fr)",
      text: describeRunsOn,
      sortKey: describeRunsOn,
    },
    {
      id: "why",
      title: "Why",
      width: "minmax(0, 1.6fr)",
      text: (one) => describeReason(one, architecture),
    },
  ];
}

function plain(amount: number | undefined, unit = 1): string {
  return amount === undefined ? "" : String(Number((amount / unit).toFixed(3)));
}

// With plain numbers: the same columns as those of `kubectl placement report --output=csv`.
export function csvRows(architecture: string, workloads: readonly Workload[]): string[][] {
  const head = ["namespace", "kind", "name", "owner", "pods", "runs on", "images are for", "cpu"];
  const rows = workloads.map((one) => [
    one.namespace,
    one.kind,
    one.name,
    one.owner,
    String(one.pods),
    describeRunsOn(one),
    one.imagesAreFor.join(" "),
    plain(one.requests.cpu),
    plain(one.requests.memoryBytes, 1024 ** 3),
    one.fate,
    describeReason(one, architecture),
  ]);
  return [[...head, "memory GiB", `on ${architecture}`, "why"], ...rows];
}
