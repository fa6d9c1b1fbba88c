// SPDX-License-Identifier: Apache-2.0
// What becomes of the pods on an architecture, as a chart and as a table.

import type { FateLine } from "../api/answers";
import { describeCount, describeCpu, describeGib } from "../pure/amounts";
import { linkTo } from "../pure/route";
import { useRoute } from "../hooks/use_route";
import { BarChart } from "./bar_chart";
import type { Column } from "./column";
import { DataTable } from "./data_table";
import { lookOf } from "./fates";

interface FateMapProps {
  architecture: string;
  fates: FateLine[];
}

export function FateMap({ architecture, fates }: FateMapProps) {
  const route = useRoute();
  const columns: Column<FateLine>[] = [
    {
      id: "fate",
      title: "Pods that",
      text: (line) => line.fate,
      render: (line) => (
        <a href={linkTo("workloads", route, { architecture, fate: line.fate })}>{line.fate}</a>
      ),
    },
    { id: "pods", title: "Pods", text: (line) => describeCount(line.pods), isNumber: true },
    { id: "cpu", title: "CPU", text: (line) => describeCpu(line.requests.cpu), isNumber: true },
    {
      id: "memory",
      title: "Memory GiB",
      text: (line) => describeGib(line.requests.memoryBytes),
      isNumber: true,
    },
  ];
  if (fates.every((line) => line.pods === 0)) return <p class="empty muted">There are no pods.</p>;
  return (
    <div class="fate-map">
      <BarChart
        label={`Pods by outcome on ${architecture}; the table has the numbers`}
        bars={fates.map((line) => ({
          name: line.fate,
          value: line.pods,
          colour: lookOf(line.fate).colour,
        }))}
      />
      <DataTable
        label={`Pods by outcome on ${architecture}`}
        columns={columns}
        rows={fates}
        rowKey={(line) => line.fate}
        empty="There are no pods."
      />
    </div>
  );
}
