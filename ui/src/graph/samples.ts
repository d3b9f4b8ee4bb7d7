import type { RunView, TreeView } from "../api/client";

type Steps = RunView["steps"];

/** Steps for tests, in order: a path, and what differs from a finished step of a second. */
export function steps(...entries: [path: string, more?: Partial<Steps[string]>][]): { steps: Steps } {
  return {
    steps: Object.fromEntries(
      entries.map(([path, more], index) => [
        path,
        {
          kind: "ask",
          agent: "",
          task: "",
          model: "m",
          status: "completed",
          seq: index + 1,
          started_ms: index * 1000,
          ended_ms: (index + 1) * 1000,
          usage: { calls: 1, input_tokens: 10, output_tokens: 5, cost_usd: 0 },
          ...more,
        },
      ]),
    ),
  };
}

type Node = TreeView["nodes"][string];

/** A tree for tests: ids with what differs from a finished leaf; a node lies below the one before its last "/". */
export function tree(...entries: [id: string, more?: Partial<Node>][]): TreeView {
  const nodes = Object.fromEntries(entries.map(([id, more]) => [id, { ...LEAF, path: id, title: id, ...more }]));
  for (const id of Object.keys(nodes)) {
    const parent = nodes[id.slice(0, Math.max(0, id.lastIndexOf("/")))];
    if (parent) parent.children = [...parent.children, id];
  }
  return { kind: "tree", root: entries[0]?.[0] ?? "", nodes };
}

const LEAF: Omit<Node, "path" | "title"> = {
  children: [],
  note: "",
  status: "completed",
  depth: 0,
  band: 0,
  bands: {},
  nodes: 1,
  failed: 0,
  running: 0,
  cost_usd: 0,
  calls: 0,
};
