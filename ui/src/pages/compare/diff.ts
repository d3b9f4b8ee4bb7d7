import type { RunView } from "../../api/client";
import { stepsOf, type Step } from "../../graph/steps";

export interface Pair {
  path: string;
  left: Step | undefined;
  right: Step | undefined;
  same: boolean;
}

/** Pair the steps of two runs: the same path is the same step. */
export function pairsOf(left: Pick<RunView, "steps">, right: Pick<RunView, "steps">): Pair[] {
  const [ofLeft, ofRight] = [byPath(left), byPath(right)];
  return [...new Set([...ofLeft.keys(), ...ofRight.keys()])].map((path) => {
    const [a, b] = [ofLeft.get(path), ofRight.get(path)];
    const same = a !== undefined && a.status === b?.status && a.result_hash === b.result_hash;
    return { path, left: a, right: b, same };
  });
}

const byPath = (view: Pick<RunView, "steps">): Map<string, Step> =>
  new Map(stepsOf(view).map((step) => [step.path, step]));

/** Return everything that was set when a run was started, by name. */
export function settingsOf({ request, config, options, budget }: RunView): Record<string, string> {
  const all: Record<string, unknown> = { request, ...config, ...options };
  for (const [name, value] of Object.entries(budget)) all[`budget.${name}`] = value;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

export interface DiffLine {
  left: string | null;
  right: string | null;
}

const MOST_LINES = 1500;

/** Compare two texts line by line: lines of both stand beside each other (longest common subsequence). */
export function diffOf(left: string, right: string): DiffLine[] {
  const a = left.split("\n").slice(0, MOST_LINES);
  const b = right.split("\n").slice(0, MOST_LINES);
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => best[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push({ left: a[i++] ?? "", right: b[j++] ?? "" });
    else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1)))
      lines.push({ left: a[i++] ?? "", right: null });
    else lines.push({ left: null, right: b[j++] ?? "" });
  }
  return lines;
}
