// SPDX-License-Identifier: Apache-2.0
// Which pods a config has caught, and which it has missed.

import type { WhyConfig } from "../api/answers";
import { addressOf } from "../api/client";
import { useAnswer } from "../hooks/use_answer";
import { Answered, Freshness } from "../parts/answered";
import { Badge } from "../parts/badge";
import { SidePanel } from "../parts/side_panel";
import { describeNumber } from "../pure/amounts";

interface ConfigPanelProps {
  config: string; // NAMESPACE/NAME
  onClose(): void;
}

export function ConfigPanel({ config, onClose }: ConfigPanelProps) {
  const [namespace = "", name = ""] = config.split("/");
  const live = useAnswer<WhyConfig>(addressOf("why/config", { namespace, name }));
  return (
    <SidePanel
      subject={config}
      kind={`PodPlacementConfig in ${namespace}`}
      title={name}
      onClose={onClose}
    >
      <Freshness live={live} />
      <Answered live={live}>{(data) => <ConfigAnswer data={data} />}</Answered>
    </SidePanel>
  );
}

function ConfigAnswer({ data }: { data: WhyConfig }) {
  const caught = data.groups.reduce(
    (sum, group) => sum + (group.caught ? group.count : 0),
    0,
  );
  return (
    <>
      <p>
        It has given something to {caught} of {describeNumber(data.pods, "pod")}.
      </p>
      <ul class="groups">
        {data.groups.map((group) => (
          <li key={group.what}>
            <p>
              <Badge tone={group.caught ? "good" : "plain"}>
                {group.caught ? "caught" : "missed"}
              </Badge>{" "}
              <strong>{describeNumber(group.count, "pod")}</strong> {group.what}
            </p>
            <details>
              <summary>Names</summary>
              <p class="names">{group.pods.join(", ")}</p>
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
