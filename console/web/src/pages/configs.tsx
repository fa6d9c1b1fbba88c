// SPDX-License-Identifier: Apache-2.0
// The PodPlacementConfigs, and a form for a new one.

import type { Config, Configs } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { useNamespace } from "../hooks/use_namespace";
import { changeQuery, useRoute } from "../hooks/use_route";
import { ConfigPanel } from "../panels/config_panel";
import { Answered, Freshness } from "../parts/answered";
import { Chips } from "../parts/badge";
import type { Column } from "../parts/column";
import { DataTable } from "../parts/data_table";
import { LeftOutNote } from "../parts/note";
import { AskNamespace, PageHead } from "../parts/page_head";
import { ProblemList } from "../parts/problem_list";
import { NewConfig } from "./new_config";

const keyOf = (config: Config) => `${config.namespace}/${config.name}`;

const COLUMNS: Column<Config>[] = [
  { id: "name", title: "Config", text: keyOf },
  { id: "priority", title: "Priority", text: (one) => String(one.priority), isNumber: true },
  { id: "selector", title: "Selects", text: (one) => one.selector },
  {
    id: "preferences",
    title: "Preferences",
    text: (one) => one.preferences.map((p) => `${p.architecture} ${p.weight}`).join(", "),
    render: (one) =>
      one.preferences.length === 0 ? (
        <span class="muted">none</span>
      ) : (
        <Chips names={one.preferences.map((p) => `${p.architecture} ${p.weight}`)} />
      ),
  },
  { id: "gatedBy", title: "Gated by", text: (one) => one.gatedBy || "not known" },
  {
    id: "problems",
    title: "Problems",
    text: (one) => one.problems.join("; "),
    render: (one) => <ProblemList problems={one.problems} />,
  },
];

function ConfigList() {
  const { query } = useRoute();
  const { namespace, isMissing } = useNamespace();
  const live = useAnswer<Configs>(isMissing ? undefined : addressOf("configs", { namespace }));
  const opened = query["config"] ?? "";
  return (
    <div class="page">
      <PageHead title="Configs" about="PodPlacementConfigs: which architectures new pods prefer.">
        {!isMissing && <Freshness live={live} />}
        <button
          type="button"
          class="button button-main"
          onClick={() => changeQuery({ new: "yes", config: "" })}
        >
          New config
        </button>
      </PageHead>
      {isMissing ? (
        <AskNamespace />
      ) : (
        <Answered live={live}>
          {(data) => (
            <>
              <LeftOutNote count={data.leftOut} of="configs" />
              <DataTable
                label="PodPlacementConfigs"
                columns={COLUMNS}
                rows={data.configs}
                rowKey={keyOf}
                empty="There is no PodPlacementConfig."
                onOpen={(config) => changeQuery({ config: keyOf(config) })}
                opened={opened}
              />
            </>
          )}
        </Answered>
      )}
      {opened.includes("/") && (
        <ConfigPanel config={opened} onClose={() => changeQuery({ config: "" })} />
      )}
    </div>
  );
}

export function ConfigsPage() {
  const isNew = useRoute().query["new"] === "yes";
  return isNew ? <NewConfig onClose={() => changeQuery({ new: "" })} /> : <ConfigList />;
}
