// SPDX-License-Identifier: Apache-2.0
// The fleet: clusters, which of them Placements select, and rollouts.

import type { Fleet } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { changeQuery, useRoute } from "../hooks/use_route";
import { PlacementPanel } from "../panels/placement_panel";
import { Answered, Freshness } from "../parts/answered";
import { DataTable } from "../parts/data_table";
import { CLUSTERS, PLACEMENTS, ROLLOUTS, placementKey } from "../parts/fleet_columns";
import { LeftOutNote } from "../parts/note";
import { PageHead } from "../parts/page_head";

function FleetAnswer({ data, opened }: { data: Fleet; opened: string }) {
  return (
    <>
      <LeftOutNote count={data.leftOut} of="objects" />
      <section class="card" aria-labelledby="clusters-title">
        <h2 id="clusters-title">Clusters</h2>
        <DataTable
          label="Clusters"
          columns={CLUSTERS}
          rows={data.clusters}
          rowKey={(one) => one.name}
          empty="There is no cluster."
        />
      </section>
      <section class="card" aria-labelledby="placements-title">
        <h2 id="placements-title">Placements</h2>
        <DataTable
          label="Placements"
          columns={PLACEMENTS}
          rows={data.placements}
          rowKey={placementKey}
          empty="There is no Placement."
          onOpen={(one) => changeQuery({ placement: placementKey(one) })}
          opened={opened}
        />
      </section>
      <section class="card" aria-labelledby="rollouts-title">
        <h2 id="rollouts-title">Rollouts</h2>
        <DataTable
          label="Rollouts"
          columns={ROLLOUTS}
          rows={data.rollouts}
          rowKey={(one) => `${one.namespace}/${one.name}`}
          empty="There is no rollout."
        />
      </section>
    </>
  );
}

export function FleetPage() {
  const { namespace = "", placement: opened = "" } = useRoute().query;
  const live = useAnswer<Fleet>(addressOf("fleet", { namespace }));
  return (
    <div class="page">
      <PageHead title="Fleet" about="Clusters, which of them Placements select, and rollouts.">
        <Freshness live={live} />
      </PageHead>
      <Answered live={live}>{(data) => <FleetAnswer data={data} opened={opened} />}</Answered>
      {opened.includes("/") && (
        <PlacementPanel placement={opened} onClose={() => changeQuery({ placement: "" })} />
      )}
    </div>
  );
}
