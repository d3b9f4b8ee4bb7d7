import { add, maybe, nothing, number, text, type Charge, type LogEvent } from "./events";
import { chargedBy } from "./steps";

export interface TreeNode {
  id: string;
  parent: string | null;
  title: string;
  reason: string;
  depth: number;
  band: number | null;
  step: number | null;
  status: string;
  outcome: string;
  error: string;
  summary: string;
  message: string;
  replans: number;
  children: string[];
  bands: { index: number; goal: string }[];
  own: Charge;
}

export interface Subtree {
  nodes: number;
  failed: number;
  running: number;
  usd: number;
  calls: number;
}

/** Nodes, bands and what each subtree cost. A node's steps lie under its path, so money finds its node by it. */
export class TreeFold {
  readonly kind = "tree";
  readonly nodes = new Map<string, TreeNode>();
  root = "";

  apply(event: LogEvent): void {
    const charge = chargedBy(event);
    if (charge) {
      const owner = this.ownerOf(event.path);
      if (owner) add(owner.own, charge);
    }
    if (!event.type.startsWith("tree.")) return;
    const { data } = event;
    const id = text(data.nodeId);
    if (event.type === "tree.node_created") {
      this.create(id, data);
      return;
    }
    const node = this.nodes.get(id);
    if (node) this.change(node, event);
  }

  /** How a subtree stands, in one line. */
  subtree(id: string): Subtree {
    const sum: Subtree = { nodes: 0, failed: 0, running: 0, usd: 0, calls: 0 };
    const open = [id];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const node = this.nodes.get(next);
      if (!node) continue;
      sum.nodes += 1;
      sum.failed += node.status === "failed" ? 1 : 0;
      sum.running += isActive(node.status) ? 1 : 0;
      sum.usd += node.own.usd;
      sum.calls += node.own.calls;
      open.push(...node.children);
    }
    return sum;
  }

  private create(id: string, data: LogEvent["data"]): void {
    if (this.nodes.has(id)) return;
    const parent = typeof data.parentNodeId === "string" ? data.parentNodeId : null;
    this.nodes.set(id, {
      id,
      parent,
      title: text(data.title),
      reason: text(data.reason),
      depth: number(data.depth),
      band: maybe(data.bandIndex),
      step: maybe(data.stepIndex),
      status: "created",
      outcome: "",
      error: "",
      summary: "",
      message: "",
      replans: 0,
      children: [],
      bands: [],
      own: nothing(),
    });
    if (parent === null) this.root = id;
    else this.nodes.get(parent)?.children.push(id);
  }

  private change(node: TreeNode, { type, data }: LogEvent): void {
    switch (type) {
      case "tree.node_status":
        node.status = text(data.status);
        node.message = text(data.message);
        break;
      case "tree.node_completed":
        node.status = "completed";
        node.outcome = text(data.outcome);
        break;
      case "tree.node_failed":
        node.status = "failed";
        node.error = text(data.error);
        break;
      case "tree.node_result":
        node.summary = text((data.result as Record<string, unknown> | undefined)?.summary);
        break;
      case "tree.replan_requested":
        node.replans += 1;
        break;
      case "tree.plan_created":
        node.bands = [];
        break;
      case "tree.plan_band_created":
        node.bands.push({ index: number(data.bandIndex), goal: text(data.goal) });
        break;
    }
  }

  /** The deepest node whose path holds this one: the root's path is empty. */
  private ownerOf(path: string): TreeNode | undefined {
    const parts = path.split("/");
    for (let length = parts.length; length > 0; length -= 1) {
      const found = this.nodes.get([this.root, ...parts.slice(0, length)].join("/"));
      if (found) return found;
    }
    return this.nodes.get(this.root);
  }
}

/** Where a node's own steps lie in the log. */
export function pathOf(node: string, root: string): string {
  return node === root ? "" : node.slice(root.length + 1);
}

export const isActive = (status: string): boolean =>
  ["planning", "delegating", "executing", "waiting", "aggregating"].includes(status);
