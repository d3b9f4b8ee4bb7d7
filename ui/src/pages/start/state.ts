import { useState } from "react";
import { api, problemOf, type Estimate, type Problem, type Workflow } from "../../api/client";
import { go } from "../../route";
import { flawOf, valuesOf, type Given } from "./values";

export interface Draft {
  request: string;
  model: string;
  options: Given;
  budget: Given;
  gates: readonly string[];
}

const EMPTY: Draft = { request: "", model: "", options: {}, budget: {}, gates: [] };

export const budgetFlaw = (value: string): string =>
  value === "" || Number(value) >= 0 ? "" : "A number that is not negative, please.";

function isFlawed(workflow: Workflow, draft: Draft): boolean {
  const wrong = workflow.options.some((option) => flawOf(option, draft.options[option.name] ?? ""));
  const silent = workflow.needs_request && !draft.request.trim();
  return wrong || silent || Object.values(draft.budget).some((value) => budgetFlaw(value) !== "");
}

function bodyOf(workflow: Workflow, draft: Draft): Record<string, unknown> {
  const ceilings = Object.entries(draft.budget).filter(([, value]) => value !== "");
  return {
    workflow: workflow.name,
    request: draft.request || " ",
    options: valuesOf(workflow.options, draft.options),
    approve: draft.gates,
    budget: Object.fromEntries(ceilings.map(([name, value]) => [name, Number(value)])),
    ...(draft.model ? { model: draft.model } : {}),
  };
}

/** State of the start form, and the request made of it. */
export function useDraft(workflow: Workflow) {
  const [draft, setDraft] = useState(EMPTY);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const flawed = isFlawed(workflow, draft);
  const fail = (error: unknown): void => {
    setBusy(false);
    setProblem(problemOf(error));
  };
  const attempt = (action: () => void): void => {
    setTried(true);
    setProblem(null);
    if (!flawed) action();
  };
  const start = (): void =>
    attempt(() => {
      setBusy(true);
      api.start(bodyOf(workflow, draft)).then((run) => go(`/runs/${run.run_id}`), fail);
    });
  const look = (): void =>
    attempt(() => {
      const options = valuesOf(workflow.options, draft.options);
      api.estimate(workflow.name, { request: draft.request, options }).then(setEstimate, fail);
    });
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  return { draft, change, tried, flawed, busy, problem, estimate, start, look };
}
