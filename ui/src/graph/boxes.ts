import type { TreeView } from "../api/client";
import { own } from "../live/patch";
import { lastPart, titleOf, type Step } from "./steps";

/** A node of a graph that can be collapsed, with the totals of everything below it. */
export interface Box {
  id: string;
  /** Path of its steps in the log. */
  path: string;
  title: string;
  note: string;
  status: string;
  band: number;
  bandNames: Readonly<Record<string, string>>;
  children: Box[];
  nodes: number;
  failed: number;
  running: number;
  usd: number;
}

/** Return the nodes of a tree. */
export function boxesOfTree(tree: TreeView): Box | null {
  const seen = new Set<string>();
  const make = (id: string): Box | null => {
    const node = own(tree.nodes, id);
    if (!node || seen.has(id)) return null;
    seen.add(id);
    return {
      id,
      path: node.path,
      title: node.title,
      note: node.note,
      status: node.status,
      band: node.band,
      bandNames: node.bands,
      children: node.children.flatMap((child) => make(child) ?? []),
      nodes: node.nodes,
      failed: node.failed,
      running: node.running,
      usd: node.cost_usd,
    };
  };
  return make(tree.root);
}

/** Return the steps of any workflow: their paths are a tree already. */
export function boxesOfSteps(steps: readonly Step[], title: string, status: string): Box {
  const root = branch("", title, status);
  const byPath = new Map<string, Box>([["", root]]);
  for (const step of steps) {
    const parent = parentOf(step.path, byPath);
    const box = byPath.get(step.path) ?? branch(step.path, "", "");
    if (!byPath.has(step.path)) parent.children.push(box);
    byPath.set(step.path, box);
    Object.assign(box, {
      title: titleOf(step),
      note: step.agent || step.kind,
      status: step.status,
      usd: step.usage.cost_usd,
      failed: step.status === "failed" ? 1 : 0,
      running: step.status === "running" ? 1 : 0,
    });
  }
  return withTotals(root);
}

function parentOf(path: string, byPath: Map<string, Box>): Box {
  const cut = path.lastIndexOf("/");
  const above = cut === -1 ? "" : path.slice(0, cut);
  const known = byPath.get(above);
  if (known) return known;
  const box = branch(above, lastPart(above), "");
  byPath.set(above, box);
  parentOf(above, byPath).children.push(box);
  return box;
}

function branch(path: string, title: string, status: string): Box {
  return {
    id: path || "·",
    path,
    title,
    note: "",
    status,
    band: 0,
    bandNames: {},
    children: [],
    nodes: 1,
    failed: 0,
    running: 0,
    usd: 0,
  };
}

function withTotals(box: Box): Box {
  for (const child of box.children.map(withTotals)) {
    box.nodes += child.nodes;
    box.failed += child.failed;
    box.running += child.running;
    box.usd += child.usd;
  }
  if (!box.status) box.status = box.running ? "running" : box.failed ? "failed" : "completed";
  return box;
}
