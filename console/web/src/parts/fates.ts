// SPDX-License-Identifier: Apache-2.0
// What becomes of pods on an architecture: the names of NameOf() in plugin/report/report.cc.

import type { BadgeTone } from "./badge";

export interface FateLook {
  tone: BadgeTone;
  colour: string; // a variable of app.css
}

const LOOKS: Record<string, FateLook> = {
  "runs there": { tone: "good", colour: "--good" },
  "could run there": { tone: "accent", colour: "--accent" },
  "held back": { tone: "bad", colour: "--bad" },
  "asks for another": { tone: "warn", colour: "--warn" },
  "not known": { tone: "plain", colour: "--muted" },
  stays: { tone: "plain", colour: "--track-strong" },
};

export function lookOf(fate: string): FateLook {
  return LOOKS[fate] ?? { tone: "plain", colour: "--muted" };
}
