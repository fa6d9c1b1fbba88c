// SPDX-License-Identifier: Apache-2.0
// How the operator is: problems, what pods wait for, its Deployments, certificates.

import type { Component, Status, WaitingCause } from "../api/answers";
import { useRoute } from "../hooks/use_route";
import { describeSeconds } from "../pure/age";
import { describeCount, describeNumber } from "../pure/amounts";
import { NO_CAUSE, causeText } from "../pure/causes";
import { linkTo } from "../pure/route";
import type { Route } from "../pure/route";
import { Badge } from "./badge";
import type { Column } from "./column";
import { DataTable } from "./data_table";
import { ProblemList } from "./problem_list";

const SOON_DAYS = 14;

function causeColumns(route: Route): Column<WaitingCause>[] {
  return [
    {
      id: "cause",
      title: "Cause",
      text: (line) => causeText(line.cause),
      render: (line) => (
        <a href={linkTo("waiting", route, { cause: line.cause || NO_CAUSE })}>
          {causeText(line.cause)}
        </a>
      ),
    },
    { id: "pods", title: "Pods", text: (line) => describeCount(line.pods), isNumber: true },
    {
      id: "oldest",
      title: "Oldest",
      text: (line) => describeSeconds(line.oldestSeconds),
      isNumber: true,
    },
    { id: "example", title: "Example", text: (line) => line.example },
  ];
}

const COMPONENTS: Column<Component>[] = [
  { id: "name", title: "Deployment", text: (one) => `${one.namespace}/${one.name}` },
  { id: "version", title: "Version", text: (one) => one.version || "not known" },
  {
    id: "ready",
    title: "Ready",
    text: (one) => `${one.ready} of ${one.replicas}`,
    render: (one) => (
      <Badge tone={one.ready >= one.replicas ? "good" : one.ready > 0 ? "warn" : "bad"}>
        {one.ready} of {one.replicas}
      </Badge>
    ),
    isNumber: true,
  },
];

const REGISTRIES: Column<[string, number]>[] = [
  { id: "registry", title: "Registry", text: ([name]) => name },
  { id: "pods", title: "Waiting pods", text: ([, pods]) => describeCount(pods), isNumber: true },
];

const CERTIFICATES: Column<[string, number]>[] = [
  { id: "name", title: "Webhook configuration", text: ([name]) => name },
  {
    id: "days",
    title: "Days left",
    text: ([, days]) => describeCount(days),
    render: ([, days]) => (
      <Badge tone={days <= 0 ? "bad" : days < SOON_DAYS ? "warn" : "plain"}>
        {describeCount(days)}
      </Badge>
    ),
    isNumber: true,
  },
];

function Problems({ problems }: { problems: string[] }) {
  return (
    <section class="card" aria-labelledby="problems-title">
      <h2 id="problems-title">Problems</h2>
      {problems.length === 0 ? (
        <p class="empty muted">The configurations report no problem.</p>
      ) : (
        <ProblemList problems={problems} />
      )}
    </section>
  );
}

export function OperatorState({ status }: { status: Status }) {
  const route = useRoute();
  const waiting = status.waiting.reduce((sum, line) => sum + line.pods, 0);
  return (
    <div class="two-columns">
      <section class="card" aria-labelledby="waiting-title">
        <h2 id="waiting-title">
          Waiting pods <span class="muted">{describeCount(waiting)}</span>
        </h2>
        <DataTable
          label="Waiting pods by cause"
          columns={causeColumns(route)}
          rows={status.waiting}
          rowKey={(line) => line.cause}
          empty="No pod waits for the operator."
        />
      </section>
      <Problems problems={status.problems} />
      <section class="card" aria-labelledby="components-title">
        <h2 id="components-title">
          Operator{" "}
          <span class="muted">
            {status.versions.length === 0
              ? "version not known"
              : `version ${status.versions.join(", ")}`}
            , {describeNumber(status.configs, "config")}
          </span>
        </h2>
        <DataTable
          label="Deployments of the operator"
          columns={COMPONENTS}
          rows={status.components}
          rowKey={(one) => `${one.namespace}/${one.name}`}
          empty="The Deployments are not known."
        />
      </section>
      <section class="card" aria-labelledby="registries-title">
        <h2 id="registries-title">Registries and certificates</h2>
        <DataTable
          label="Registries that pods wait for"
          columns={REGISTRIES}
          rows={Object.entries(status.registries)}
          rowKey={([name]) => name}
          empty="No pod waits for a registry."
        />
        <DataTable
          label="Certificates of webhooks"
          columns={CERTIFICATES}
          rows={Object.entries(status.certificateDaysLeft)}
          rowKey={([name]) => name}
          empty="The certificates are not known."
        />
      </section>
    </div>
  );
}
