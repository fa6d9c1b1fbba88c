// SPDX-License-Identifier: Apache-2.0
// Which workloads a config would select: asked of the server when typing has stopped.

import type { Simulation } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { useSettled } from "../hooks/use_settled";
import { describeNumber } from "../pure/amounts";
import { Answered } from "./answered";
import type { Column } from "./column";
import { DataTable } from "./data_table";
import { Note } from "./note";

const SETTLED_MILLISECONDS = 500;

type Selected = Simulation["selected"][number];

const COLUMNS: Column<Selected>[] = [
  { id: "name", title: "Workload", text: (one) => one.name },
  { id: "before", title: "New pods prefer now", text: (one) => one.before || "nothing" },
  { id: "after", title: "Would prefer", text: (one) => one.after || "nothing" },
];

function Outcome({ data }: { data: Simulation }) {
  const all = data.selected.length + data.others.length;
  return (
    <>
      {data.problem !== "" && <Note tone="error">It would be refused: {data.problem}</Note>}
      <p>
        It would select {data.selected.length} of {describeNumber(all, "workload")}.
      </p>
      <DataTable
        label="Selected workloads"
        columns={COLUMNS}
        rows={data.selected}
        rowKey={(one) => one.name}
        empty="It would select no workload."
      />
      {data.others.length > 0 && (
        <details>
          <summary>{describeNumber(data.others.length, "workload")} not selected</summary>
          <ul class="lines">
            {data.others.map((other, index) => (
              <li key={index}>{other}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

interface SimulationResultProps {
  namespace: string;
  yaml: string | undefined; // undefined: there is nothing to ask about
}

export function SimulationResult({ namespace, yaml }: SimulationResultProps) {
  const settled = useSettled(yaml, SETTLED_MILLISECONDS);
  const isAsked = settled !== undefined && settled === yaml;
  const live = useAnswer<Simulation>(
    isAsked ? addressOf("simulate", { namespace }) : undefined,
    isAsked ? { yaml: settled } : {},
  );
  return (
    <section class="card" aria-labelledby="simulation-title">
      <h2 id="simulation-title">What it would select</h2>
      {yaml === undefined ? (
        <p class="muted">This is asked when every field is right.</p>
      ) : isAsked ? (
        <Answered live={live}>{(data) => <Outcome data={data} />}</Answered>
      ) : (
        <p class="loading">Waiting until you stop typing…</p>
      )}
    </section>
  );
}
