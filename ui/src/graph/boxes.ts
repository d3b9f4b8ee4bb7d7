import { isClock, type Step } from "../fold/steps";
import { pathOf, type TreeFold, type TreeNode } from "../fold/tree";

/** A node of a graph that can be folded: what it says of itself, and of everything below it. */
export interface Box {
  id: string;
  /** Where its steps lie in the log. */
  path: string;
  title: string;
  note: string;
  status: string;
  band: number;
  bandNames: ReadonlyMap<number, string>;
  children: Box[];
  nodes: number;
  failed: number;
  running: number;
  usd: number;
}

const NONE: ReadonlyMap<number, string> = new Map();
const AS_STATUS: Record<string, string> = {
  created: "queued",
  planning: "running",
  delegating: "running",
  executing: "running",
  waiting: "running",
  aggregating: "running",
  blocked: "paused",
};

/** The nodes of a tree, with its bands. */
export function boxesOfTree(fold: TreeFold): Box | null {
  const make = (id: string): Box | null => {
    const node = fold.nodes.get(id);
    if (!node) return null;
    const children = node.children.flatMap((child) => make(child) ?? []);
    const active = AS_STATUS[node.status] === "running" ? 1 : 0;
    return summed({
      id,
      path: pathOf(id, fold.root),
      title: node.title,
      note: active ? node.status : node.error || (node.replans ? `replanned ${node.replans}×` : endOf(node)),
      status: node.outcome === "partial" ? "partial" : (AS_STATUS[node.status] ?? node.status),
      band: node.band ?? 0,
      bandNames: new Map(node.bands.map((band) => [band.index, band.goal])),
      children,
      nodes: 1,
      failed: node.status === "failed" ? 1 : 0,
      running: active,
      usd: node.own.usd,
    });
  };
  return make(fold.root);
}

const endOf = (node: TreeNode): string => (node.status === "blocked" ? "stopped" : node.outcome);

/** Any workflow: the paths of its steps are a tree already. */
export function boxesOfSteps(steps: readonly Step[], title: string, status: string): Box {
  const root = branch("", title, status);
  const byPath = new Map<string, Box>([["", root]]);
  for (const step of steps) {
    if (isClock(step)) continue;
    const parent = parentOf(step.path, byPath);
    const box = byPath.get(step.path) ?? branch(step.path, "", "");
    if (!byPath.has(step.path)) parent.children.push(box);
    byPath.set(step.path, box);
    Object.assign(box, {
      title: step.task || last(step.path),
      note: step.agent || step.kind,
      status: step.status,
      usd: step.charge.usd,
      failed: step.status === "failed" ? 1 : 0,
      running: step.status === "running" ? 1 : 0,
    });
  }
  return sumAll(root);
}

function parentOf(path: string, byPath: Map<string, Box>): Box {
  const cut = path.lastIndexOf("/");
  const above = cut === -1 ? "" : path.slice(0, cut);
  const found = byPath.get(above);
  if (found) return found;
  const made = branch(above, last(above), "");
  byPath.set(above, made);
  parentOf(above, byPath).children.push(made);
  return made;
}

const last = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function branch(path: string, title: string, status: string): Box {
  return {
    id: path || "·",
    path,
    title,
    note: "",
    status,
    band: 0,
    bandNames: NONE,
    children: [],
    nodes: 1,
    failed: 0,
    running: 0,
    usd: 0,
  };
}

function summed(box: Box): Box {
  for (const child of box.children) {
    box.nodes += child.nodes;
    box.failed += child.failed;
    box.running += child.running;
    box.usd += child.usd;
  }
  return box;
}

function sumAll(box: Box): Box {
  box.children.forEach(sumAll);
  summed(box);
  if (!box.status) box.status = box.running ? "running" : box.failed ? "failed" : "completed";
  return box;
}
