import { expect, it } from "vitest";
import type { RunSummary } from "../../api/client";
import { sharesOf } from "./spend";

const run = { cost_usd: 0.5, calls: 3, tokens: 10, duration_s: 2 };
const none = { usd: null, calls: null, tokens: null, seconds: null, depth: null };

it("tells what a run has used of the ceilings that it has, and of no others", () => {
  expect(sharesOf({ ...run, budget: none } as RunSummary)).toEqual([]);
  const shares = sharesOf({ ...run, budget: { ...none, usd: 1, seconds: 60 } } as RunSummary);
  expect(shares).toMatchObject([
    { name: "dollars", spent: 0.5, ceiling: 1 },
    { name: "time", spent: 2, ceiling: 60 },
  ]);
});
