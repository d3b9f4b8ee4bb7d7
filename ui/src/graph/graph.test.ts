import { describe, expect, it } from "vitest";
import { RunFold } from "../fold/run";
import { created, log, spent } from "../fold/samples";
import { timelineOf } from "../fold/timeline";
import { TreeFold } from "../fold/tree";
import { boxesOfSteps, boxesOfTree } from "./boxes";
import { fold, MOST_SHOWN, type Shown } from "./folding";
import { bandLayout, flowLayout, HEIGHT, WIDTH } from "./layout";

const drawn = (one: Shown): Shown[] => [one, ...one.children.flatMap(drawn)];

function bigTree(): TreeFold {
  const tree = new TreeFold();
  const nodes: [string, string, Record<string, unknown>][] = [
    ["", "tree.node_created", { nodeId: "root", parentNodeId: null, title: "root" }],
  ];
  for (let a = 0; a < 40; a += 1) {
    nodes.push([
      "",
      "tree.node_created",
      { nodeId: `root/${a}`, parentNodeId: "root", title: `${a}`, bandIndex: a % 2 },
    ]);
    for (let b = 0; b < 49; b += 1)
      nodes.push([
        "",
        "tree.node_created",
        { nodeId: `root/${a}/${b}`, parentNodeId: `root/${a}`, title: `${a}/${b}` },
      ]);
  }
  log(
    ...nodes,
    ["", "tree.node_failed", { nodeId: "root/39/48", error: "no" }],
    ["", "tree.node_status", { nodeId: "root/7/3", status: "executing" }],
  ).forEach((event) => tree.apply(event));
  return tree;
}

it("a node that ended in part, or was stopped, does not look done", () => {
  const tree = new TreeFold();
  log(
    ["", "tree.node_created", { nodeId: "root", parentNodeId: null, title: "root" }],
    ["", "tree.node_created", { nodeId: "root/1", parentNodeId: "root", title: "one" }],
    ["", "tree.node_status", { nodeId: "root/1", status: "blocked" }],
    ["", "tree.node_completed", { nodeId: "root", outcome: "partial" }],
  ).forEach((event) => tree.apply(event));
  const root = boxesOfTree(tree);
  expect([root?.status, root?.note]).toEqual(["partial", "partial"]);
  expect([root?.children[0]?.status, root?.children[0]?.note]).toEqual(["paused", "stopped"]);
});

describe("a graph of 2,001 nodes", () => {
  const root = boxesOfTree(bigTree());
  it("is drawn as a few hundred, the active path open, and the rest counted", () => {
    if (!root) throw new Error("no root");
    const shown = drawn(fold(root, new Map()));
    expect(root.nodes).toBe(2001);
    expect(shown.length).toBeLessThanOrEqual(MOST_SHOWN);
    expect(shown.some((one) => one.box.id === "root/7/3")).toBe(true);
    const closed = shown.find((one) => one.box.id === "root/39");
    expect([closed?.open, closed?.box.nodes, closed?.box.failed]).toEqual([false, 50, 1]);
  });
  it("opens what somebody opens, and closes what somebody closes", () => {
    if (!root) throw new Error("no root");
    const shown = drawn(
      fold(
        root,
        new Map([
          ["root/39", true],
          ["root/7", false],
        ]),
      ),
    );
    expect(shown.some((one) => one.box.id === "root/39/48")).toBe(true);
    expect(shown.some((one) => one.box.id === "root/7/3")).toBe(false);
  });
  it("has no two nodes in one place", () => {
    if (!root) throw new Error("no root");
    for (const drawing of [bandLayout(fold(root, new Map())), flowLayout(fold(root, new Map()))]) {
      const boxes = drawing.placed;
      const clash = boxes.some((one, index) =>
        boxes.slice(index + 1).some((other) => Math.abs(one.x - other.x) < WIDTH && Math.abs(one.y - other.y) < HEIGHT),
      );
      expect(clash).toBe(false);
    }
  });
  it("puts a later band below an earlier one", () => {
    if (!root) throw new Error("no root");
    const [first, second] = bandLayout(fold(root, new Map())).bands.filter((band) => band.id.startsWith("root#"));
    expect((second?.y ?? 0) > (first?.y ?? 0) + (first?.height ?? 0)).toBe(true);
  });
});

describe("any workflow", () => {
  const run = new RunFold();
  run.apply(
    log(
      created(),
      ["a/b", "step.started", { kind: "ask", about: { agent: "Ann", task: "think" } }],
      ["a/b", "model.attempted", spent(2)],
      ["a/b", "step.completed", { result: 1 }],
      ["a/clock", "step.started", { kind: "clock" }],
      ["c", "step.started", { kind: "ask", about: { agent: "Bob" } }],
    ),
  );
  it("is a tree of the paths of its steps, without looks at the clock", () => {
    const root = boxesOfSteps(run.steps.all, "Do it", "running");
    expect(root.children.map((one) => [one.path, one.status, one.usd])).toEqual([
      ["a", "completed", 2],
      ["c", "running", 0],
    ]);
    expect(root.children[0]?.children.map((one) => [one.title, one.note])).toEqual([["think", "Ann"]]);
  });
  it("has a row for each agent in its timeline", () => {
    expect(timelineOf(run.steps.all, run.updatedAt).rows.map((row) => row.agent)).toEqual(["Ann", "Bob"]);
  });
});

describe("timeline", () => {
  it("compresses waits, puts what overlaps into lanes and marks the critical path", () => {
    const hour = 3_600_000;
    const run = new RunFold();
    const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
    const events = log(
      created(),
      ["a", "step.started", { kind: "ask", about: { agent: "X" } }],
      ["b", "step.started", { kind: "ask", about: { agent: "X" } }],
      ["a", "step.completed", {}],
      ["b", "step.completed", {}],
      ["c", "step.started", { kind: "ask", about: { agent: "X" } }],
      ["c", "step.completed", {}],
    );
    const times = [0, 0, 100, 900, 1000, hour, hour + 1000];
    run.apply(events.map((event, index) => ({ ...event, time: at(times[index] ?? 0) })));
    const line = timelineOf(run.steps.all, 0);
    expect(line.gaps.map((gap) => Math.round(gap.seconds))).toEqual([3599]);
    expect(line.rows[0]?.lanes).toBe(2);
    const bars = line.rows[0]?.bars ?? [];
    expect(bars.filter((bar) => bar.critical).map((bar) => bar.step.path)).toEqual(["b", "c"]);
    expect((bars[2]?.to ?? 0) - (bars[2]?.from ?? 0)).toBeGreaterThan(0.4);
  });
});

describe("a timeline of very many steps", () => {
  it("draws those as one that no eye could tell apart, and still lists each", () => {
    const run = new RunFold();
    const entries = Array.from({ length: 1000 }, (_, index) => [
      [`s${index}`, "step.started", { kind: "ask", about: { agent: "X" } }],
      [`s${index}`, "step.completed", {}],
    ]).flat() as Parameters<typeof log>;
    run.apply(log(created(), ...entries));
    const [row] = timelineOf(run.steps.all, 0).rows;
    expect(row?.steps).toHaveLength(1000);
    expect(row?.bars.length).toBeLessThan(600);
    expect(row?.bars.reduce((sum, bar) => sum + bar.steps, 0)).toBe(1000);
  });
});
