// SPDX-License-Identifier: Apache-2.0
// Lines of the report: how they are told, found and filtered. The texts are those of
// plugin/report/report_text.cc.

import type { Workload } from "../api/answers";
import { hasWords } from "./words";

export function keyOfWorkload(one: Workload): string {
  return `${one.kind} ${one.namespace}/${one.name}`;
}

export function describeRunsOn(one: Workload): string {
  return Object.entries(one.runsOn)
    .map(([architecture, pods]) => `${architecture === "" ? "no node" : architecture} ${pods}`)
    .join(", ");
}

export function describeReason(one: Workload, architecture: string): string {
  return one.images
    .map((image) => {
      const is = image.platforms === "" ? "is not known" : `is for ${image.platforms}`;
      const newer = image.newer === "" ? "" : `, ${image.newer} has ${architecture}`;
      return `${image.image} ${is}${newer}`;
    })
    .join("; ");
}

// The kinds that api/why can explain.
const EXPLAINED = ["pod", "deployment", "statefulset", "replicaset", "daemonset", "job"];

export function whyKindOf(kind: string): string | undefined {
  const lower = kind.toLowerCase();
  return EXPLAINED.includes(lower) ? lower : undefined;
}

export function matchesWorkload(one: Workload, text: string, fate: string): boolean {
  if (fate !== "" && one.fate !== fate) return false;
  return hasWords(`${one.kind} ${one.namespace}/${one.name} ${one.owner}`, text);
}
