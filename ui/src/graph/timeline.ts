import { endOf, type Step } from "./steps";

export interface Bar {
  step: Step;
  /** From 0 to 1 over the width of the timeline. */
  from: number;
  to: number;
  lane: number;
  critical: boolean;
  /** As it was when this was made: the step itself goes on. */
  status: string;
  /** End times of failed calls, for segments. */
  cuts: number[];
  /** Number of steps in the bar: steps that would overlap share one. */
  steps: number;
}

export interface AgentRow {
  agent: string;
  lanes: number;
  bars: Bar[];
  /** All of them, also where several are one bar. */
  steps: Step[];
}

export interface Timeline {
  rows: AgentRow[];
  /** Stretches in which nothing was under way, squeezed to a mark. */
  gaps: { at: number; seconds: number }[];
  seconds: number;
}

const SHORTEST_MS = 1;
/** Steps without an agent are shown only if they took a while: a run of the tests, for example. */
const LONG_MS = 100;
const GAP_PART = 0.02;
/** About two pixels. */
const THIN = 0.002;

interface Stretch {
  from: number;
  to: number;
}

/** A row per agent; waits are compressed, so that work can be seen. */
export function timelineOf(steps: readonly Step[], now: number): Timeline {
  const work = steps.filter(
    (step) => !step.inherited && (step.agent || step.kind !== "step" || endOf(step, now) - step.started_ms >= LONG_MS),
  );
  const shown = work.length > 0 ? work : steps.filter((step) => !step.inherited);
  const end = (step: Step): number => Math.max(endOf(step, now), step.started_ms + SHORTEST_MS);
  const stretches = union(shown.map((step) => ({ from: step.started_ms, to: end(step) })));
  const busy = stretches.reduce((sum, stretch) => sum + stretch.to - stretch.from, 0) || 1;
  const waits = gapsOf(stretches, busy);
  const total = 1 - waits.length * GAP_PART;
  const place = scale(stretches, waits, busy, total);
  const critical = criticalPath(shown, end);
  const rows = new Map<string, { row: AgentRow; ends: number[] }>();
  for (const step of [...shown].sort((a, b) => a.started_ms - b.started_ms)) {
    const agent = step.agent || (step.kind === "step" ? "other work" : step.kind);
    const entry = rows.get(agent) ?? { row: { agent, lanes: 0, bars: [], steps: [] }, ends: [] };
    rows.set(agent, entry);
    const free = entry.ends.findIndex((ended) => ended <= step.started_ms);
    const lane = free === -1 ? entry.ends.length : free;
    entry.ends[lane] = end(step);
    entry.row.lanes = entry.ends.length;
    entry.row.steps.push(step);
    entry.row.bars.push({
      step,
      from: place(step.started_ms),
      to: place(end(step)),
      lane,
      critical: critical.has(step),
      status: step.status,
      cuts: (step.failed_calls_ms ?? []).map(place),
      steps: 1,
    });
  }
  return {
    rows: [...rows.values()].map(({ row }) => ({ ...row, bars: joined(row.bars) })),
    gaps: waits.map((wait) => ({ at: place(wait.from), seconds: (wait.to - wait.from) / 1000 })),
    seconds: busy / 1000,
  };
}

/** Join bars of one lane that are thinner than a line and stand side by side. */
function joined(bars: Bar[]): Bar[] {
  const result: Bar[] = [];
  const open = new Map<number, Bar>();
  for (const bar of bars) {
    const last = open.get(bar.lane);
    const alike = last && last.critical === bar.critical && last.status === bar.status && bar.cuts.length === 0;
    if (
      alike &&
      bar.to - bar.from < THIN &&
      bar.from - last.to < THIN &&
      (last.steps > 1 || last.to - last.from < THIN)
    ) {
      last.to = Math.max(last.to, bar.to);
      last.steps += 1;
      continue;
    }
    result.push(bar);
    open.set(bar.lane, bar);
  }
  return result;
}

function union(all: Stretch[]): Stretch[] {
  const merged: Stretch[] = [];
  for (const stretch of [...all].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last && stretch.from <= last.to) last.to = Math.max(last.to, stretch.to);
    else merged.push({ ...stretch });
  }
  return merged;
}

/** Only waits that would be wider than their mark are worth one. */
function gapsOf(stretches: Stretch[], busy: number): Stretch[] {
  const gaps = stretches.slice(1).map((next, index) => ({ from: stretches[index]?.to ?? 0, to: next.from }));
  const long = gaps.filter((gap) => gap.to - gap.from > busy * 0.05);
  return long
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, 12)
    .sort((a, b) => a.from - b.from);
}

function scale(stretches: Stretch[], waits: Stretch[], busy: number, total: number): (at: number) => number {
  const first = stretches[0]?.from ?? 0;
  const whole = (stretches.at(-1)?.to ?? 1) - first - waits.reduce((sum, wait) => sum + wait.to - wait.from, 0) || busy;
  return (at) => {
    const before = waits.filter((wait) => wait.to <= at);
    const inside = waits.find((wait) => wait.from < at && at < wait.to);
    const squeezed = before.reduce((sum, wait) => sum + wait.to - wait.from, 0) + (inside ? at - inside.from : 0);
    const part = ((at - first - squeezed) / whole) * total + before.length * GAP_PART;
    return Math.min(1, Math.max(0, part));
  };
}

/** From the last end backwards: each time, the step that ended last before the next one could begin. */
export function criticalPath(steps: readonly Step[], end: (step: Step) => number): Set<Step> {
  const byEnd = [...steps].sort((a, b) => end(b) - end(a));
  const path = new Set<Step>();
  let limit = Infinity;
  for (const step of byEnd) {
    if (end(step) > limit) continue;
    path.add(step);
    limit = step.started_ms;
  }
  return path;
}
