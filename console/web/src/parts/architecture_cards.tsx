// SPDX-License-Identifier: Apache-2.0
// A card for each architecture of nodes: how many, and how full.

import type { ArchitectureLine } from "../api/answers";
import {
  describeCount,
  describeCpu,
  describeGib,
  describeNumber,
  describeShare,
  shareOf,
} from "../pure/amounts";
import { Bar } from "./bar";

interface UseProps {
  name: string;
  requested: number | undefined;
  allocatable: number | undefined;
  describe(amount: number | undefined): string;
  unit: string;
}

function Use({ name, requested, allocatable, describe, unit }: UseProps) {
  const share = shareOf(requested, allocatable);
  const isKnown = requested !== undefined || allocatable !== undefined;
  return (
    <div class="use">
      <div class="use-text">
        <span>{name}</span>
        <span class="muted">
          {isKnown ? `${describe(requested)} of ${describe(allocatable)} ${unit}` : "not known"}
          {share !== undefined && <strong> {describeShare(share)}</strong>}
        </span>
      </div>
      <Bar label={`${name} requested`} share={share} />
    </div>
  );
}

function ArchitectureCard({ line }: { line: ArchitectureLine }) {
  return (
    <li class="card">
      <h3>{line.architecture === "" ? "not known" : line.architecture}</h3>
      <p class="muted">
        {describeNumber(line.nodes, "node")}, {describeNumber(line.pods, "pod")}
      </p>
      <Use
        name="CPU"
        requested={line.requested.cpu}
        allocatable={line.allocatable.cpu}
        describe={describeCpu}
        unit="CPUs"
      />
      <Use
        name="Memory"
        requested={line.requested.memoryBytes}
        allocatable={line.allocatable.memoryBytes}
        describe={describeGib}
        unit="GiB"
      />
    </li>
  );
}

export function ArchitectureCards({ lines }: { lines: ArchitectureLine[] }) {
  const nodes = lines.reduce((sum, line) => sum + line.nodes, 0);
  return (
    <section aria-labelledby="architectures-title">
      <h2 id="architectures-title">
        Architectures <span class="muted">{describeCount(nodes)} nodes</span>
      </h2>
      {lines.length === 0 ? (
        <p class="empty muted">The nodes are not known.</p>
      ) : (
        <ul class="cards">
          {lines.map((line) => (
            <ArchitectureCard key={line.architecture} line={line} />
          ))}
        </ul>
      )}
    </section>
  );
}
