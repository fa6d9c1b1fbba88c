// SPDX-License-Identifier: Apache-2.0
// The answer why a pod waits or does not run: the cause, the story, and what everything around it
// says.

import type { ComponentChildren } from "preact";
import type { WhyPod } from "../api/answers";
import { serverNow } from "../api/client";
import { describeAge } from "../pure/age";
import { describeNumber } from "../pure/amounts";
import { Badge } from "./badge";
import { CauseBox } from "./cause_box";

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function PodAnswer({ data }: { data: WhyPod }) {
  return (
    <>
      <p>It {data.state}.</p>
      {data.cause === undefined ? (
        <p class="muted">Nothing is wrong that could be seen.</p>
      ) : (
        <CauseBox cause={data.cause} />
      )}
      <Story story={data.story} />
      <Images images={data.images} />
      <Preferences preferences={data.preferences} />
      <Selections title="Configs" lines={data.configs.map(configLine)} />
      <Selections title="Scheduling policies" lines={data.policies} />
      <Nodes nodes={data.nodes} />
    </>
  );
}

function Story({ story }: { story: WhyPod["story"] }) {
  const now = serverNow();
  return (
    <Part title="Story">
      <ol class="story">
        {story.map((line, index) => (
          <li key={index}>
            <time class="muted" dateTime={line.at} title={line.at}>
              {describeAge(line.at, now)} ago
            </time>
            <span>{line.text}</span>
          </li>
        ))}
      </ol>
    </Part>
  );
}

function Images({ images }: { images: WhyPod["images"] }) {
  if (images.length === 0) return null;
  return (
    <Part title="Images">
      <ul class="lines">
        {images.map((image, index) => (
          <li key={index}>
            <code>{image.image}</code>
            <span>{image.platforms === "" ? "not known" : image.platforms}</span>
            <span class="muted">{image.source}</span>
            {image.finding !== undefined && <Badge tone="warn">{image.finding}</Badge>}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Preferences({ preferences }: { preferences: WhyPod["preferences"] }) {
  if (preferences.length === 0) return null;
  return (
    <Part title="Preferences">
      <ul class="lines">
        {preferences.map((one, index) => (
          <li key={index}>
            <strong>
              {one.architecture} {one.weight}
            </strong>
            <span class="muted">
              {one.lostTo === ""
                ? `by ${one.source}`
                : `not by ${one.source}, but by ${one.lostTo}`}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

interface Selection {
  name: string;
  selects: boolean;
  why: string;
}

function configLine(config: WhyPod["configs"][number]): Selection {
  return { ...config, name: `${config.name} (priority ${config.priority})` };
}

function Selections({ title, lines }: { title: string; lines: Selection[] }) {
  if (lines.length === 0) return null;
  return (
    <Part title={title}>
      <ul class="lines">
        {lines.map((line) => (
          <li key={line.name}>
            <strong>{line.name}</strong>
            <span>{line.selects ? "selects the pod" : "does not select the pod"}</span>
            {line.why !== "" && <span class="muted">{line.why}</span>}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Nodes({ nodes }: { nodes: WhyPod["nodes"] }) {
  if (nodes === undefined)
    return (
      <Part title="Nodes">
        <p class="muted">Which nodes fit is not known.</p>
      </Part>
    );
  const others = Object.entries(nodes.others);
  const all = others.reduce((sum, [, names]) => sum + names.length, nodes.fitting);
  return (
    <Part title="Nodes">
      <p>
        {nodes.fitting} of {describeNumber(all, "node")} fit.
      </p>
      <ul class="lines">
        {others.map(([why, names]) => (
          <li key={why}>
            <span>{why}</span>
            <span class="muted">{names.join(", ")}</span>
          </li>
        ))}
      </ul>
    </Part>
  );
}
