// SPDX-License-Identifier: Apache-2.0
// Why a Placement selects each cluster, or does not.

import type { WhyPlacement } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { Answered, Freshness } from "../parts/answered";
import { Badge } from "../parts/badge";
import type { Column } from "../parts/column";
import { DataTable } from "../parts/data_table";
import { Note } from "../parts/note";
import { SidePanel } from "../parts/side_panel";

interface PlacementPanelProps {
  placement: string; // NAMESPACE/NAME
  onClose(): void;
}

type Line = WhyPlacement["clusters"][number];

const COLUMNS: Column<Line>[] = [
  { id: "name", title: "Cluster", text: (one) => one.name },
  {
    id: "selected",
    title: "Selected",
    text: (one) => (one.selected ? "yes" : "no"),
    render: (one) => (
      <Badge tone={one.selected ? "good" : "plain"}>{one.selected ? "yes" : "no"}</Badge>
    ),
  },
  {
    id: "score",
    title: "Score",
    text: (one) => (one.score === undefined ? "none" : String(one.score)),
    isNumber: true,
  },
  { id: "why", title: "Why", text: (one) => one.why },
];

export function PlacementPanel({ placement, onClose }: PlacementPanelProps) {
  const [namespace = "", name = ""] = placement.split("/");
  const live = useAnswer<WhyPlacement>(addressOf("fleet/why", { namespace, name }));
  return (
    <SidePanel
      subject={placement}
      kind={`Placement in ${namespace}`}
      title={name}
      onClose={onClose}
    >
      <Freshness live={live} />
      <Answered live={live}>
        {(data) => (
          <>
            {data.error !== "" && <Note tone="error">{data.error}</Note>}
            <DataTable
              label="Clusters and reasons"
              columns={COLUMNS}
              rows={data.clusters}
              rowKey={(one) => one.name}
              empty="There is no cluster."
            />
          </>
        )}
      </Answered>
    </SidePanel>
  );
}
