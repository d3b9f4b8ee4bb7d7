import { describe, expect, it } from "vitest";
import { attemptIn, Grades } from "./grades";
import { log } from "./samples";

const of = (...entries: Parameters<typeof log>): Grades => {
  const grades = new Grades();
  log(...entries).forEach((event) => grades.apply(event));
  return grades;
};

describe("grades", () => {
  const studio = { score: 60, threshold: 80, decision: "retry", feedback: "more" };
  it("belong to the steps of the attempt that they are about, and to no other", () => {
    const grades = of(
      ["story/plot/attempt", "studio.specialist_graded", studio],
      ["story/plot/attempt#2", "studio.specialist_graded", { ...studio, score: 91, decision: "accept", feedback: "" }],
    );
    expect(grades.of("story/plot/attempt/execute")).toMatchObject([{ score: 60, passed: false, feedback: ["more"] }]);
    expect(grades.of("story/plot/attempt#2/execute")).toMatchObject([{ score: 91, passed: true, feedback: [] }]);
    expect(grades.of("story/brief")).toEqual([]);
  });
  it("tell what tests and gates found", () => {
    const result = { ok: false, passed: 1, failed: 1, errors: 1, failures: [{ name: "test_a", message: "no" }] };
    const verdict = { score: 40, reason: "thin", issues: [{ description: "no tests" }], recommendation: "fix" };
    const grades = of(
      ["a/attempt", "build.tests_run", { result }],
      ["a/attempt", "build.verified", { gate: "code", passed: false, threshold: 60, result: verdict }],
    );
    expect(grades.of("a/attempt/code")).toMatchObject([
      { what: "Tests", passed: false, decision: "1 passed, 2 failed", feedback: ["test_a: no"] },
      { what: "Gate: code", score: 40, threshold: 60, feedback: ["thin", "no tests"] },
    ]);
  });
  it("of the whole run are shown at its own steps only", () => {
    const grades = of(["", "tree.node_result", { result: { successAssessment: { met: true } } }]);
    expect(grades.of("aggregate")).toHaveLength(1);
    expect(grades.of("1-part/execute")).toEqual([]);
  });
});

describe("an attempt", () => {
  it.each([
    ["story/plot/attempt/execute", 1],
    ["story/plot/attempt#3/execute", 3],
    ["iteration[1]/editor/attempt[2]/edit", 2],
    ["plan", 1],
  ])("is read from the path %s", (path, attempt) => expect(attemptIn(path)).toBe(attempt));
});
