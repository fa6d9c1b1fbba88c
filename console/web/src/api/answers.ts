// SPDX-License-Identifier: Apache-2.0
// What the console's server answers, as console/ writes it. The parts of `why` are those of
// plugin/pod/answer_parts.cc.

export interface Unread {
  what: string;
  why: string;
}

// Parts that the user may not read are named, so every answer has this.
export interface Answer {
  unread?: Unread[];
}

export interface Session {
  user: string;
  version: string;
  namespaces: string[];
  namespacesUnread: string; // why the namespaces are not listed; "" if they are
  fleet: boolean;
}

export interface Component {
  namespace: string;
  name: string;
  version: string;
  replicas: number;
  ready: number;
}

export interface WaitingCause {
  cause: string;
  pods: number;
  oldestSeconds: number;
  example: string;
}

export interface Status extends Answer {
  components: Component[];
  versions: string[];
  configs: number;
  problems: string[];
  waiting: WaitingCause[];
  registries: Record<string, number>;
  certificateDaysLeft: Record<string, number>;
}

export interface Amount {
  cpu?: number;
  memoryBytes?: number;
}

export interface ArchitectureLine {
  architecture: string; // "" if the node does not say
  nodes: number;
  pods: number;
  allocatable: Amount;
  requested: Amount;
}

export interface FateLine {
  fate: string; // NameOf() in plugin/report/report.cc
  pods: number;
  requests: Amount;
}

export interface HeldBackImage {
  image: string;
  platforms: string; // "" if not known
  newer: string;
}

export interface Workload {
  namespace: string;
  kind: string;
  name: string;
  owner: string;
  pods: number;
  requests: Amount;
  runsOn: Record<string, number>; // "" for pods without a node
  imagesAreFor: string[];
  fate: string;
  images: HeldBackImage[];
}

export interface Report extends Answer {
  architecture: string;
  architectures: ArchitectureLine[];
  fates: FateLine[];
  workloads: Workload[];
  daemonSets: Workload[];
  leftOut?: number;
}

export interface Cause {
  name: string;
  why: string;
  next?: string;
}

export interface WaitingPod {
  namespace: string;
  name: string;
  created: string;
  gates: string[];
  cause?: Cause;
}

export interface Waiting extends Answer {
  now: string;
  pods: WaitingPod[];
  leftOut?: number;
}

export interface WhyPod extends Answer {
  namespace: string;
  name: string;
  state: string;
  story: { at: string; text: string }[];
  images: { image: string; platforms: string; source: string; finding?: string }[];
  preferences: { architecture: string; weight: number; source: string; lostTo: string }[];
  configs: { name: string; priority: number; selects: boolean; why: string }[];
  policies: { name: string; selects: boolean; why: string }[];
  nodes?: { fitting: number; others: Record<string, string[]> };
  cause?: Cause;
}

export interface WhyConfig extends Answer {
  namespace: string;
  name: string;
  pods: number;
  groups: { what: string; caught: boolean; count: number; pods: string[] }[]; // the first 1,000
}

export interface WhyWorkload extends Answer {
  kind: string;
  namespace: string;
  name: string;
  pods: number;
  wanted?: number;
  running: number;
  creation?: Cause; // why pods are missing
  groups: { pods: string[]; cause?: Cause }[];
}

export interface Config {
  namespace: string;
  name: string;
  priority: number;
  selector: string;
  preferences: { architecture: string; weight: number }[];
  gatedBy: string;
  problems: string[];
}

export interface Configs extends Answer {
  configs: Config[];
  leftOut?: number;
}

export interface Simulation extends Answer {
  name: string;
  problem: string;
  selected: { name: string; before: string; after: string }[];
  others: string[];
}

// An image that does not run on an architecture of its index.
export interface ImageFinding {
  image: string;
  digest: string;
  architecture: string;
  evidence: string;
  namespace: string; // for its pods alone; "": for all
  ignored: boolean;
  seen: string;
}

export interface Image {
  image: string;
  digest: string;
  platforms: string[]; // ["*"]: an artifact, which never runs
  read: string;
  scope: string;
}

export interface Images extends Answer {
  images: Image[];
  total: number;
  findings: ImageFinding[];
}

export interface Cluster {
  name: string;
  available: boolean | null;
  reason: string;
  architectures: string[];
  labels: Record<string, string>;
  taints: string[];
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

export interface Placement {
  namespace: string;
  name: string;
  selected: string[]; // the first ones, if selectedCount is larger
  selectedCount?: number;
  wanted?: number;
  conditions: Condition[];
}

export interface Rollout {
  namespace: string;
  name: string;
  placement: string;
  clusters: number;
  applied: number;
  failed: number;
  problems: string[];
}

export interface Fleet extends Answer {
  clusters: Cluster[];
  placements: Placement[];
  rollouts: Rollout[];
  leftOut?: number; // of all three
}

export interface WhyPlacement extends Answer {
  clusters: { name: string; selected: boolean; score?: number; why: string }[];
  error: string;
}
