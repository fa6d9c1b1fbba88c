// SPDX-License-Identifier: Apache-2.0
// The columns of clusters, Placements and rollouts.

import type { Cluster, Placement, Rollout } from "../api/answers";
import { describeCount, shareOf } from "../pure/amounts";
import { Badge, Chips } from "./badge";
import { Bar } from "./bar";
import type { Column } from "./column";
import { ProblemList } from "./problem_list";

function labelsOf(cluster: Cluster): string[] {
  return Object.entries(cluster.labels).map(([key, value]) =>
    value === "" ? key : `${key}=${value}`,
  );
}

function Availability({ cluster }: { cluster: Cluster }) {
  const { available, reason } = cluster;
  return (
    <>
      <Badge tone={available === null ? "warn" : available ? "good" : "bad"}>
        {available === null ? "not known" : available ? "available" : "not available"}
      </Badge>
      {reason !== "" && <span class="muted"> {reason}</span>}
    </>
  );
}

export const CLUSTERS: Column<Cluster>[] = [
  { id: "name", title: "Cluster", text: (one) => one.name },
  {
    id: "available",
    title: "State",
    text: (one) => one.reason,
    render: (one) => <Availability cluster={one} />,
  },
  {
    id: "architectures",
    title: "Architectures",
    text: (one) => one.architectures.join(", ") || "not known",
    render: (one) =>
      one.architectures.length === 0 ? (
        <span class="muted">not known</span>
      ) : (
        <Chips names={one.architectures} />
      ),
  },
  {
    id: "labels",
    title: "Labels",
    text: (one) => labelsOf(one).join(", "),
    render: (one) => <Chips names={labelsOf(one)} />,
  },
  {
    id: "taints",
    title: "Taints",
    text: (one) => one.taints.join(", "),
    render: (one) => <Chips names={one.taints} />,
  },
];

export const placementKey = (one: Placement) => `${one.namespace}/${one.name}`;

function countOf(placement: Placement): number {
  return placement.selectedCount ?? placement.selected.length;
}

export const PLACEMENTS: Column<Placement>[] = [
  { id: "name", title: "Placement", text: placementKey },
  {
    id: "count",
    title: "Clusters",
    text: (one) =>
      one.wanted === undefined
        ? describeCount(countOf(one))
        : `${describeCount(countOf(one))} of ${describeCount(one.wanted)}`,
    isNumber: true,
  },
  {
    id: "selected",
    title: "Selected",
    text: (one) => one.selected.join(", "),
    render: (one) =>
      countOf(one) === 0 ? (
        <span class="muted">none</span>
      ) : (
        <>
          <Chips names={one.selected} />
          {countOf(one) > one.selected.length && (
            <span class="muted"> and {describeCount(countOf(one) - one.selected.length)} more</span>
          )}
        </>
      ),
  },
  {
    id: "conditions",
    title: "Conditions",
    text: (one) => one.conditions.map((condition) => condition.type).join(", "),
    render: (one) => (
      <ul class="lines">
        {one.conditions.map((condition) => (
          <li key={condition.type}>
            <strong>
              {condition.type}: {condition.status}
            </strong>
            <span class="muted">
              {condition.reason}
              {condition.message !== "" && `: ${condition.message}`}
            </span>
          </li>
        ))}
      </ul>
    ),
  },
];

export const ROLLOUTS: Column<Rollout>[] = [
  { id: "name", title: "Rollout", text: (one) => `${one.namespace}/${one.name}` },
  { id: "placement", title: "Placement", text: (one) => one.placement },
  {
    id: "progress",
    title: "Progress",
    text: (one) => `${one.applied} of ${one.clusters} applied`,
    render: (one) => (
      <div class="progress">
        <span>
          {one.applied} of {one.clusters} applied
        </span>
        <Bar
          label={`Applied by ${one.namespace}/${one.name}`}
          share={shareOf(one.applied, one.clusters)}
          tone="good"
        />
      </div>
    ),
  },
  {
    id: "failed",
    title: "Failed",
    text: (one) => describeCount(one.failed),
    render: (one) =>
      one.failed === 0 ? "0" : <Badge tone="bad">{describeCount(one.failed)}</Badge>,
    isNumber: true,
  },
  {
    id: "problems",
    title: "Problems",
    text: (one) => one.problems.join("; "),
    render: (one) => <ProblemList problems={one.problems} />,
  },
];
