import { expect, it } from "vitest";
import { steps } from "./samples";
import { stepsOf } from "./steps";
import { timelineOf } from "./timeline";

it("has a row for each agent", () => {
  const view = steps(["a", { agent: "Ann" }], ["b", { agent: "Bob" }], ["c", { agent: "Ann" }]);
  expect(timelineOf(stepsOf(view), 0).rows.map((row) => row.agent)).toEqual(["Ann", "Bob"]);
});

it("compresses waits, puts what overlaps into lanes and marks the critical path", () => {
  const hour = 3_600_000;
  const view = steps(
    ["a", { agent: "X", started_ms: 0, ended_ms: 900, failed_calls_ms: [450] }],
    ["b", { agent: "X", started_ms: 100, ended_ms: 1000 }],
    ["c", { agent: "X", started_ms: hour, ended_ms: hour + 1000 }],
  );
  const timeline = timelineOf(stepsOf(view), 0);
  expect(timeline.gaps.map((gap) => Math.round(gap.seconds))).toEqual([3599]);
  expect(timeline.rows[0]?.lanes).toBe(2);
  const bars = timeline.rows[0]?.bars ?? [];
  expect(bars.filter((bar) => bar.critical).map((bar) => bar.step.path)).toEqual(["b", "c"]);
  expect((bars[2]?.to ?? 0) - (bars[2]?.from ?? 0)).toBeGreaterThan(0.4);
  expect(bars[0]?.cuts).toHaveLength(1);
});

it("a running step lasts until now, an interrupted one does not", () => {
  const { started_ms, ended_ms, ...open } = steps(["a"]).steps.a ?? { started_ms: 0, ended_ms: 0 };
  expect([started_ms, ended_ms]).toEqual([0, 1000]);
  const view = {
    steps: { a: { ...open, started_ms: 0, status: "running" }, b: { ...open, started_ms: 0, status: "interrupted" } },
  };
  const bars = timelineOf(stepsOf(view as Parameters<typeof stepsOf>[0]), 5000).rows.flatMap((row) => row.bars);
  expect(bars.map((bar) => Math.round(bar.to * 100))).toEqual([100, 0]);
});

it("draws steps as one bar that no eye could tell apart, and still lists each", () => {
  const entries = Array.from({ length: 1000 }, (_, index): [string, { agent: string }] => [
    `s${index}`,
    { agent: "X" },
  ]);
  const [row] = timelineOf(stepsOf(steps(...entries)), 0).rows;
  expect(row?.steps).toHaveLength(1000);
  expect(row?.bars.length).toBeLessThan(600);
  expect(row?.bars.reduce((sum, bar) => sum + bar.steps, 0)).toBe(1000);
});
