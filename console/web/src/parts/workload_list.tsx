// SPDX-License-Identifier: Apache-2.0
// The workloads of a report: totals, the table, DaemonSets, and the file for spreadsheets.

import { useMemo } from "preact/hooks";
import type { FateLine, Report, Workload } from "../api/answers";
import { changeQuery, useRoute } from "../hooks/use_route";
import { WorkloadPanel } from "../panels/workload_panel";
import { describeCount, describeCpu, describeGib, describeNumber } from "../pure/amounts";
import { toCsv } from "../pure/csv";
import { formatOrder, parseOrder, sorted } from "../pure/sort";
import { keyOfWorkload, matchesWorkload } from "../pure/workloads";
import { announce } from "./announcer";
import { lookOf } from "./fates";
import { TextField } from "./field";
import { LeftOutNote } from "./note";
import { saveFile } from "./save_file";
import { VirtualTable } from "./virtual_table";
import { csvRows, workloadColumns } from "./workload_columns";

function Totals({ fates, chosen }: { fates: FateLine[]; chosen: string }) {
  return (
    <div class="totals-box">
      <div class="totals" role="group" aria-label="Show only workloads of">
        {fates.map((line) => (
          <button
            key={line.fate}
            type="button"
            class={`total total-${lookOf(line.fate).tone}`}
            aria-pressed={line.fate === chosen}
            onClick={() => changeQuery({ fate: line.fate === chosen ? "" : line.fate })}
          >
            <span class="total-name">{line.fate}</span>
            <span class="total-count">{describeCount(line.pods)}</span>
            <span class="muted">
              {`pods, ${describeCpu(line.requests.cpu)} CPUs, `}
              {`${describeGib(line.requests.memoryBytes)} GiB`}
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}

export function WorkloadList({ report }: { report: Report }) {
  const { query } = useRoute();
  const { text = "", fate = "", workload: opened = "" } = query;
  const order = parseOrder(query["sort"], "-pods");
  const { architecture } = report;
  const columns = useMemo(() => workloadColumns(architecture), [architecture]);
  const arranged = (lines: readonly Workload[]) => {
    const chosen = lines.filter((one) => matchesWorkload(one, text, fate));
    const column = columns.find((one) => one.id === order.column);
    return column?.sortKey === undefined
      ? chosen
      : sorted(chosen, column.sortKey, order.descending);
  };
  const inputs = [columns, text, fate, order.column, order.descending];
  const workloads = useMemo(() => arranged(report.workloads), [report.workloads, ...inputs]);
  const daemonSets = useMemo(() => arranged(report.daemonSets), [report.daemonSets, ...inputs]);
  const shown = [...report.workloads, ...report.daemonSets].find(
    (one) => keyOfWorkload(one) === opened,
  );

  const save = () => {
    const rows = csvRows(architecture, [...workloads, ...daemonSets]);
    saveFile(`workloads-${architecture}.csv`, "text/csv", toCsv(rows));
    announce(`${describeNumber(rows.length - 1, "workload")} saved`);
  };
  const table = {
    columns,
    rowKey: keyOfWorkload,
    opened,
    onOpen: (one: Workload) => changeQuery({ workload: keyOfWorkload(one) }),
    order,
    onOrder: (next: typeof order) => changeQuery({ sort: formatOrder(next) }),
  };
  return (
    <>
      <Totals fates={report.fates} chosen={fate} />
      <LeftOutNote count={report.leftOut} of="workloads" />
      <div class="filters">
        <TextField
          label="Find"
          type="search"
          value={text}
          placeholder="kind, namespace, name or owner"
          onValue={(value) => changeQuery({ text: value })}
        />
        <p class="filter-result muted">
          {describeCount(workloads.length)} of {describeNumber(report.workloads.length, "workload")}
        </p>
        <button type="button" class="button" onClick={save}>
          Save as CSV
        </button>
      </div>
      <section aria-label="Workloads">
        <VirtualTable
          {...table}
          label="Workloads"
          rows={workloads}
          empty={report.workloads.length === 0 ? "There is no workload." : "No workload matches."}
        />
      </section>
      <section aria-labelledby="daemonsets-title">
        <h2 id="daemonsets-title">
          DaemonSets that may not run on new nodes{" "}
          <span class="muted">{describeCount(report.daemonSets.length)}</span>
        </h2>
        <VirtualTable
          {...table}
          label="DaemonSets"
          rows={daemonSets}
          empty={report.daemonSets.length === 0 ? "There is none." : "No DaemonSet matches."}
          isShort
        />
      </section>
      {shown !== undefined && (
        <WorkloadPanel
          workload={shown}
          architecture={architecture}
          onClose={() => changeQuery({ workload: "" })}
        />
      )}
    </>
  );
}
