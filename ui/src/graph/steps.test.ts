import { expect, it } from "vitest";
import type { Grade } from "../api/client";
import { ordered } from "./order";
import { steps } from "./samples";
import { gradesOf, stepAt, stepsOf } from "./steps";

const grade = (what: string): Grade => ({ what, passed: true, decision: "", feedback: [] });

it("lists steps in the order in which they began, also where keys look like numbers", () => {
  const view = steps(["b"], ["10"], ["9"], ["now", { clock: true }]);
  expect(stepsOf(view).map((step) => step.path)).toEqual(["b", "10", "9"]);
});

it("keeps the objects of steps that did not change", () => {
  const before = steps(["a"], ["b"]);
  const after = { steps: { ...before.steps, b: { ...before.steps.b, status: "failed" } } } as typeof before;
  expect(stepsOf(after)[0]).toBe(stepsOf(before)[0]);
  expect(stepsOf(after)[1]?.status).toBe("failed");
});

it("a path that no step has is none, whatever it is called", () => {
  expect(stepAt(steps(["a"]), "constructor")).toBeUndefined();
  expect(stepAt(steps(["a"]), "a")?.path).toBe("a");
});

it("a step has the grades of the nearest branch; those of the whole run only if it is not deep", () => {
  const grades = { "a/attempt": { 12: grade("second"), 9: grade("first") }, "": { 20: grade("whole") } };
  expect(gradesOf({ grades }, "a/attempt/write").map(({ what }) => what)).toEqual(["first", "second"]);
  expect(gradesOf({ grades }, "merge").map(({ what }) => what)).toEqual(["whole"]);
  expect(gradesOf({ grades }, "other/deep")).toEqual([]);
});

it("sorts by the order that entries name", () => {
  expect(ordered({ 1: { order: 2 }, x: { order: 0 } }).map(({ id }) => id)).toEqual(["x", "1"]);
});
