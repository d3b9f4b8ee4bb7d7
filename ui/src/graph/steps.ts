import type { Grade, RunView } from "../api/client";
import { own } from "../live/patch";

export type Step = RunView["steps"][string] & { readonly path: string };

const named = new WeakMap<object, Step>();
const sorted = new WeakMap<RunView["steps"], Step[]>();

/** Return the steps in the order in which they began, without looks at the clock. */
export function stepsOf({ steps }: Pick<RunView, "steps">): readonly Step[] {
  let list = sorted.get(steps);
  if (!list) {
    list = Object.entries(steps)
      .filter(([, step]) => !step.clock)
      .map(([path, step]) => withPath(path, step))
      .sort((a, b) => a.seq - b.seq);
    sorted.set(steps, list);
  }
  return list;
}

/** Return one step, or undefined for a branch. */
export function stepAt({ steps }: Pick<RunView, "steps">, path: string): Step | undefined {
  const step = own(steps, path);
  return step && withPath(path, step);
}

/** A patch leaves most steps as they are: those keep their object, too. */
function withPath(path: string, step: RunView["steps"][string]): Step {
  let result = named.get(step);
  if (!result) named.set(step, (result = { ...step, path }));
  return result;
}

/** Return when a step ended. A step without an end lasts until now, unless it was interrupted. */
export const endOf = (step: Step, now: number): number =>
  step.ended_ms ?? (step.status === "running" ? Math.max(now, step.started_ms) : step.started_ms);

export const secondsOf = (step: Step, now: number): number => (endOf(step, now) - step.started_ms) / 1000;

/** Return what a step is called: its tool call, its task, or the last part of its path. */
export function titleOf({ call, task, turn = 0, path }: Step): string {
  return call ?? ((turn > 1 ? `${task}, turn ${turn}` : task) || lastPart(path));
}

export const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Return the grades of the nearest branch above a step. Those of the whole run are not about one deep step. */
export function gradesOf({ grades }: Pick<RunView, "grades">, path: string): readonly Grade[] {
  for (let branch = path; branch !== "";) {
    const graded = own(grades, branch);
    if (graded) return inOrder(graded);
    const cut = branch.lastIndexOf("/");
    if (cut === -1) return path.includes("/") ? [] : inOrder(own(grades, "") ?? {});
    branch = branch.slice(0, cut);
  }
  return [];
}

const inOrder = (graded: Readonly<Record<string, Grade>>): Grade[] =>
  Object.entries(graded)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, grade]) => grade);
