import type { RunFold } from "./run";
import { isClock, type Step } from "./steps";

export interface Pair {
  path: string;
  one: Step | undefined;
  other: Step | undefined;
  same: boolean;
}

/** Steps of two runs side by side: the same path is the same step. */
export function pairsOf(one: RunFold, other: RunFold): Pair[] {
  const paths = [...new Set([...one.steps.byPath.keys(), ...other.steps.byPath.keys()])];
  return paths.flatMap((path) => {
    const left = one.steps.byPath.get(path);
    const right = other.steps.byPath.get(path);
    const found = left ?? right;
    if (!found || isClock(found)) return [];
    const same =
      left !== undefined &&
      right !== undefined &&
      left.status === right.status &&
      JSON.stringify(left.result) === JSON.stringify(right.result);
    return [{ path, one: left, other: right, same }];
  });
}

export function settingsOf(run: RunFold): Record<string, string> {
  const all: Record<string, unknown> = { request: run.request, ...run.config, ...run.options };
  for (const [name, value] of Object.entries(run.budget)) if (value !== null) all[`budget.${name}`] = value;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

export interface DiffLine {
  left: string | null;
  right: string | null;
}

const MOST_LINES = 1500;

/** Line by line: what both have stands beside each other (longest common subsequence). */
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
