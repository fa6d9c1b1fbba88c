// SPDX-License-Identifier: Apache-2.0
// The pods that have no node. Up to some thousand, so their table is virtual.

import { useEffect, useMemo } from "preact/hooks";
import type { Waiting, WaitingPod } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { useNamespace } from "../hooks/use_namespace";
import { changeQuery, useRoute } from "../hooks/use_route";
import { useSettled } from "../hooks/use_settled";
import { PodPanel } from "../panels/pod_panel";
import { announce } from "../parts/announcer";
import { Answered, Freshness } from "../parts/answered";
import type { Column } from "../parts/column";
import { SelectField, TextField } from "../parts/field";
import { LeftOutNote } from "../parts/note";
import { AskNamespace, PageHead } from "../parts/page_head";
import { VirtualTable } from "../parts/virtual_table";
import { describeAge } from "../pure/age";
import { describeCount, describeNumber } from "../pure/amounts";
import { causeText } from "../pure/causes";
import { formatOrder, parseOrder, sorted } from "../pure/sort";
import { causesOf, matchesPod } from "../pure/waiting_filter";

const EVERY_SECONDS = 5;

// "scheduling-gate" of "multiarch.openshift.io/scheduling-gate"
function shortGates(pod: WaitingPod): string {
  return pod.gates.map((gate) => gate.slice(gate.indexOf("/") + 1)).join(", ");
}

function columnsAt(now: number): Column<WaitingPod>[] {
  return [
    {
      id: "age",
      title: "Age",
      width: "5.5rem",
      narrow: "5.5rem",
      text: (pod) => describeAge(pod.created, now),
      // The oldest pod has the smallest time.
      sortKey: (pod) => -Date.parse(pod.created),
      isNumber: true,
    },
    {
      id: "namespace",
      title: "Namespace",
      width: "minmax(0, 1fr)",
      text: (pod) => pod.namespace,
      sortKey: (pod) => pod.namespace,
    },
    {
      id: "pod",
      title: "Pod",
      width: "minmax(0, 2fr)",
      narrow: "minmax(0, 3fr)",
      text: (pod) => pod.name,
      sortKey: (pod) => pod.name,
    },
    {
      id: "cause",
      title: "Cause",
      width: "minmax(0, 1.5fr)",
      narrow: "minmax(0, 2fr)",
      text: (pod) => causeText(pod.cause?.name),
      sortKey: (pod) => pod.cause?.name ?? "",
    },
    {
      id: "gates",
      title: "Gates",
      width: "minmax(0, 1.5fr)",
      text: shortGates,
      sortKey: shortGates,
    },
  ];
}

const keyOf = (pod: WaitingPod) => `${pod.namespace}/${pod.name}`;

function Pods({ data }: { data: Waiting }) {
  const { query } = useRoute();
  const { text = "", cause = "", pod: opened = "" } = query;
  const order = parseOrder(query["sort"], "-age");
  const columns = useMemo(() => columnsAt(Date.parse(data.now)), [data.now]);
  const rows = useMemo(() => {
    const column = columns.find((one) => one.id === order.column);
    const chosen = data.pods.filter((pod) => matchesPod(pod, text, cause));
    return column?.sortKey === undefined
      ? chosen
      : sorted(chosen, column.sortKey, order.descending);
  }, [data, columns, text, cause, order.column, order.descending]);

  const filter = useSettled(`${text} ${cause}`, 1000);
  useEffect(() => {
    if (filter !== " ") announce(`${describeNumber(rows.length, "pod")} shown`);
  }, [filter]);

  const causes = causesOf(data.pods);
  if (cause !== "" && !causes.some(([name]) => name === cause)) causes.push([cause, 0]);
  return (
    <>
      <LeftOutNote count={data.leftOut} of="pods" />
      <div class="filters">
        <TextField
          label="Find"
          type="search"
          value={text}
          placeholder="namespace, pod or cause"
          onValue={(value) => changeQuery({ text: value })}
        />
        <SelectField
          label="Cause"
          value={cause}
          options={[
            { value: "", text: "all causes" },
            ...causes.map(([name, pods]) => ({
              value: name,
              text: `${causeText(name)} (${describeCount(pods)})`,
            })),
          ]}
          onValue={(value) => changeQuery({ cause: value })}
        />
        <p class="filter-result muted">
          {describeCount(rows.length)} of {describeNumber(data.pods.length, "pod")}
        </p>
      </div>
      <VirtualTable
        label="Waiting pods"
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        empty={data.pods.length === 0 ? "No pod waits." : "No pod matches the filters."}
        opened={opened}
        onOpen={(pod) => changeQuery({ pod: keyOf(pod) })}
        order={order}
        onOrder={(next) => changeQuery({ sort: formatOrder(next) })}
      />
    </>
  );
}

export function WaitingPage() {
  const { query } = useRoute();
  const { namespace, isMissing } = useNamespace();
  const address = isMissing ? undefined : addressOf("waiting", { namespace });
  const live = useAnswer<Waiting>(address, { every: EVERY_SECONDS });
  const opened = query["pod"] ?? "";
  return (
    <div class="page page-full">
      <PageHead title="Waiting" about="Pods without a node, and what they wait for.">
        {!isMissing && <Freshness live={live} />}
      </PageHead>
      {isMissing ? (
        <AskNamespace />
      ) : (
        <Answered live={live}>{(data) => <Pods data={data} />}</Answered>
      )}
      {opened.includes("/") && <PodPanel pod={opened} onClose={() => changeQuery({ pod: "" })} />}
    </div>
  );
}
