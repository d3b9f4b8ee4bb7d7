import { describe, expect, it } from "vitest";
import { BuildFold } from "./build";
import { CouncilFold } from "./council";
import type { LogEvent } from "./events";
import { ResearchFold } from "./research";
import { log, spent } from "./samples";
import { StudioFold } from "./studio";
import { TreeFold } from "./tree";

function into<T extends { apply(event: LogEvent): void }>(fold: T, ...entries: Parameters<typeof log>): T {
  log(...entries).forEach((event) => fold.apply(event));
  return fold;
}
const node = (id: string, parent: string | null, band = 0): [string, string, Record<string, unknown>] => [
  "",
  "tree.node_created",
  { nodeId: id, parentNodeId: parent, title: id, depth: id.split("/").length - 1, bandIndex: band },
];

describe("tree", () => {
  const tree = into(
    new TreeFold(),
    node("root", null),
    ["plan", "model.attempted", spent(1)],
    node("root/1-a", "root"),
    node("root/1-a/2-b", "root/1-a"),
    ["1-a/plan", "model.attempted", spent(2)],
    ["1-a/2-b/execute", "model.attempted", spent(4)],
    ["", "tree.node_status", { nodeId: "root", status: "waiting" }],
    ["1-a/2-b", "tree.node_failed", { nodeId: "root/1-a/2-b", error: "no" }],
    ["", "tree.plan_band_created", { nodeId: "root", bandIndex: 0, goal: "First" }],
  );
  it("gives each node the cost of its own steps", () => {
    expect([...tree.nodes.values()].map((one) => one.own.usd)).toEqual([1, 2, 4]);
  });
  it("sums a subtree for when it is folded", () => {
    expect(tree.subtree("root/1-a")).toEqual({ nodes: 2, failed: 1, running: 0, usd: 6, calls: 2 });
    expect(tree.subtree("root")).toMatchObject({ nodes: 3, running: 1, usd: 7 });
  });
  it("knows the bands of a plan", () => {
    expect(tree.nodes.get("root")?.bands).toEqual([{ index: 0, goal: "First" }]);
  });
});

describe("studio", () => {
  const studio = into(
    new StudioFold(),
    [
      "",
      "studio.routed",
      {
        team: "film",
        primary: "story",
        supporting: ["visual", "audio"],
        mode: "multi",
        names: { story: "Story" },
        needs: { visual: ["story"], audio: [] },
      },
    ],
    ["story", "studio.department_started", { department: "story", name: "Story", missing: [] }],
    ["story", "studio.specialist_started", { department: "story", specialist: "plot", name: "Plot", threshold: 80 }],
    [
      "story",
      "studio.specialist_graded",
      {
        department: "story",
        specialist: "plot",
        attempt: 1,
        score: 60,
        threshold: 80,
        decision: "retry",
        feedback: "more",
      },
    ],
    [
      "story",
      "studio.specialist_graded",
      {
        department: "story",
        specialist: "plot",
        attempt: 2,
        score: 91,
        threshold: 80,
        decision: "accept",
        feedback: "",
      },
    ],
    ["story", "studio.department_completed", { department: "story", name: "Story", score: 90, flags: [] }],
  );
  it("puts departments into lanes by what they need", () => {
    expect(studio.lanes().map((lane) => lane.map((one) => one.id))).toEqual([["story", "audio"], ["visual"]]);
  });
  it("keeps every attempt of a specialist, and its last grade", () => {
    const plot = studio.departments.get("story")?.specialists.get("plot");
    expect([plot?.score, plot?.threshold, plot?.attempts.map((one) => one.score)]).toEqual([91, 80, [60, 91]]);
  });
  it("leads from the deliverable to the only department, or to the master", () => {
    expect(studio.writtenAt()).toBe("aggregate");
    const single = into(new StudioFold(), ["", "studio.routed", { primary: "story", supporting: [] }]);
    expect(single.writtenAt()).toBe("story");
  });
  it("keeps the team's quality apart from a result that is the direct draft", () => {
    const aggregated: Parameters<typeof log>[number] = ["", "studio.aggregated", { quality: 86 }];
    const compared = (preferred: string): Parameters<typeof log>[number] => [
      "delivery",
      "floor.compared",
      { preferred },
    ];
    const told = (...entries: Parameters<typeof log>) => {
      const fold = into(new StudioFold(), ...entries);
      return [fold.teamQuality, fold.replaced, fold.outcome()];
    };
    expect(told()).toEqual([null, false, ""]);
    expect(told(aggregated)).toEqual([86, false, "86"]);
    expect(told(aggregated, compared("team"))).toEqual([86, false, "86"]);
    const draft = "The direct draft is the result; the team's text: 86";
    expect(told(aggregated, compared("draft"))).toEqual([86, true, draft]);
    expect(told(aggregated, compared("draft"), aggregated)).toEqual([86, false, "86"]);
    const ungraded: Parameters<typeof log>[number] = ["", "studio.aggregated", { quality: null }];
    expect(told(ungraded, compared("draft"))[2]).toBe("The direct draft is the result");
  });
  it("shows needs that run in a circle rather than nothing", () => {
    const odd = into(new StudioFold(), [
      "",
      "studio.routed",
      { primary: "a", supporting: ["b"], needs: { a: ["b"], b: ["a"] } },
    ]);
    expect(odd.lanes()).toHaveLength(1);
  });
});

describe("council", () => {
  const council = into(
    new CouncilFold(),
    ["", "council.phase", { round: 0, phase: "kickoff", team: ["leader"], min_score: 6 }],
    ["", "council.idea_added", { round: 1, id: "I1", title: "One" }],
    ["", "council.idea_added", { round: 1, id: "I2", title: "Two" }],
    ["", "council.idea_added", { round: 1, id: "I3", title: "Three" }],
    ["", "council.message", { round: 1, id: "M1", from: "leader", type: "kickoff", content: "Hello" }],
    ["", "council.idea_scored", { round: 2, id: "I2", score: 7, criteria: { impact: 8 } }],
    ["", "council.idea_scored", { round: 2, id: "I1", score: 5 }],
  );
  it("ranks ideas by their score, those without one last", () => {
    expect(council.ranked().map((one) => one.id)).toEqual(["I2", "I1", "I3"]);
  });
  it("has a column for each round", () => expect(council.rounds()).toEqual([0, 1]));
  it("shows an idea in its last version", () => {
    const revised = into(
      new CouncilFold(),
      ["", "council.idea_added", { round: 1, id: "I1", title: "One", description: "old", refines: ["I7", "I8"] }],
      ["", "council.idea_revised", { round: 1, id: "I1", version: 2, title: "One", description: "new" }],
    );
    const [idea] = revised.ranked();
    expect([idea?.description, idea?.version, idea?.refines]).toEqual(["new", 2, ["I7", "I8"]]);
  });
});

describe("research", () => {
  it("follows the laps of the state machine, and a worker over its retries", () => {
    const found = into(
      new ResearchFold(),
      ["", "research.phase", { iteration: 1, from: "", to: "planning" }],
      ["", "research.worker_started", { iteration: 1, worker: "web", task_id: "t1", step: 0, category: "search" }],
      ["", "research.worker_retried", { iteration: 1, worker: "web", attempt: 2, most: 3, error: "slow" }],
      [
        "",
        "research.worker_completed",
        {
          iteration: 1,
          worker: "web",
          task_id: "t1",
          step: 0,
          attempts: 2,
          result: { sources: [{ url: "corpus:a" }, { url: "corpus:a" }, { url: "corpus:b" }] },
        },
      ],
      [
        "",
        "research.evaluated",
        { iteration: 1, quality: 0.6, threshold: 0.8, decision: "continue", feedback: ["more"] },
      ],
    );
    expect([...found.workers.values()]).toMatchObject([{ id: "web", status: "completed", attempts: 2 }]);
    expect(found.found.size).toBe(2);
    expect(found.evaluations[0]?.decision).toBe("continue");
  });
});

describe("build", () => {
  it("is a checklist in which a sub-plan follows its step, indented", () => {
    const build = into(
      new BuildFold(),
      [
        "",
        "build.plan_created",
        {
          plan: {
            steps: [
              { id: "a", title: "A" },
              { id: "b", title: "B" },
            ],
          },
        },
      ],
      ["", "build.step_status", { step_id: "a", status: "in_progress", attempts: 1, depth: 0, number: 1 }],
      ["", "build.plan_created", { plan: { steps: [{ id: "a1", title: "A1" }] }, step_id: "a" }],
      ["", "build.tests_run", { step_id: "a", result: { passed: 3, failed: 1 } }],
      ["x", "build.step_status", { step_id: "a", status: "completed", attempts: 2, depth: 0, number: 1 }],
    );
    expect(build.checklist().map((one) => [one.id, one.depth])).toEqual([
      ["a", 0],
      ["a1", 1],
      ["b", 0],
    ]);
    expect(build.steps.get("a")).toMatchObject({
      tests: { passed: 3, failed: 1 },
      status: "completed",
      attempts: 2,
      path: "x",
    });
    expect(build.current).toBe("");
    expect(build.tests).toMatchObject([{ step: "a", passed: 3, failed: 1, ok: false }]);
  });
});
