import { describe, expect, it } from "vitest";
import { boxesOfSteps, boxesOfTree } from "./boxes";
import { collapse, MOST_SHOWN, type Shown } from "./collapse";
import { bandLayout, flowLayout, HEIGHT, WIDTH } from "./layout";
import { steps, tree } from "./samples";
import { stepsOf } from "./steps";

const drawn = (shown: Shown): Shown[] => [shown, ...shown.children.flatMap(drawn)];

/** A root with 40 parts of 49 leaves each; one leaf runs and one failed. */
function largeTree() {
  const entries: Parameters<typeof tree> = [["root", { nodes: 2001, running: 1, failed: 1 }]];
  for (let part = 0; part < 40; part += 1) {
    const [running, failed] = [part === 7 ? 1 : 0, part === 39 ? 1 : 0];
    entries.push([`root/${part}`, { band: part % 2, nodes: 50, running, failed }]);
    for (let leaf = 0; leaf < 49; leaf += 1) {
      entries.push([
        `root/${part}/${leaf}`,
        { running: running && leaf === 3 ? 1 : 0, failed: failed && leaf === 48 ? 1 : 0 },
      ]);
    }
  }
  const root = boxesOfTree(tree(...entries));
  if (!root) throw new Error("no root");
  return root;
}

describe("a graph of 2,001 nodes", () => {
  const root = largeTree();
  it("is drawn as a few hundred, the active path open, and the rest counted", () => {
    const shown = drawn(collapse(root, new Map()));
    expect(shown.length).toBeLessThanOrEqual(MOST_SHOWN);
    expect(shown.some(({ box }) => box.id === "root/7/3")).toBe(true);
    const closed = shown.find(({ box }) => box.id === "root/39");
    expect([closed?.open, closed?.box.nodes, closed?.box.failed]).toEqual([false, 50, 1]);
  });
  it("opens and closes branches as the reader wishes", () => {
    const wishes = new Map([
      ["root/39", true],
      ["root/7", false],
    ]);
    const ids = drawn(collapse(root, wishes)).map(({ box }) => box.id);
    expect(ids).toContain("root/39/48");
    expect(ids).not.toContain("root/7/3");
  });
  it("has no two nodes in one place", () => {
    for (const { placed } of [bandLayout(collapse(root, new Map())), flowLayout(collapse(root, new Map()))]) {
      const clash = placed.some((a, index) =>
        placed.slice(index + 1).some((b) => Math.abs(a.x - b.x) < WIDTH && Math.abs(a.y - b.y) < HEIGHT),
      );
      expect(clash).toBe(false);
    }
  });
  it("puts a later band below an earlier one", () => {
    const bands = bandLayout(collapse(root, new Map())).bands.filter((band) => band.id.startsWith("root#"));
    expect((bands[1]?.y ?? 0) > (bands[0]?.y ?? 0) + (bands[0]?.height ?? 0)).toBe(true);
  });
});

it("a node that names itself as its child is drawn once", () => {
  const broken = tree(["root"]);
  const root = { ...broken, nodes: { root: { ...broken.nodes.root, children: ["root", "missing"] } } } as typeof broken;
  expect(boxesOfTree(root)?.children).toEqual([]);
});

it("any workflow is a tree of the paths of its steps, without looks at the clock", () => {
  const view = steps(
    ["a/b", { agent: "Ann", task: "think", usage: { calls: 1, input_tokens: 1, output_tokens: 1, cost_usd: 2 } }],
    ["a/clock", { kind: "clock", clock: true }],
    ["c", { agent: "Bob", status: "running" }],
  );
  const root = boxesOfSteps(stepsOf(view), "Do it", "running");
  expect(root.children.map(({ path, status, usd }) => [path, status, usd])).toEqual([
    ["a", "completed", 2],
    ["c", "running", 0],
  ]);
  expect(root.children[0]?.children.map(({ title, note }) => [title, note])).toEqual([["think", "Ann"]]);
  expect([root.nodes, root.running]).toEqual([4, 1]);
});
