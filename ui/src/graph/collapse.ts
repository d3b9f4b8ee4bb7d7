import type { Box } from "./boxes";

/** A node that is drawn. Of a large graph about 300 are, active ones first; the others are counted. */
export interface Shown {
  box: Box;
  open: boolean;
  children: Shown[];
  /** Children that are not drawn although this node is open. */
  more: number;
}

export const MOST_SHOWN = 300;
const MOST_CHILDREN = 60;
const ALL_OPEN = 40;

export function collapse(root: Box, chosen: ReadonlyMap<string, boolean>): Shown {
  const top: Shown = { box: root, open: false, children: [], more: 0 };
  const queue: [Shown, number][] = [[top, 0]];
  let count = 1;
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [shown, depth] = next;
    const { box } = shown;
    if (box.children.length === 0) continue;
    const wanted = chosen.get(box.id) ?? (root.nodes <= ALL_OPEN || depth < 1 || box.running > 0);
    const room = Math.min(MOST_CHILDREN, chosen.get(box.id) ? MOST_CHILDREN : MOST_SHOWN - count);
    if (!wanted || room <= 0) continue;
    const drawn = pick(box.children, room);
    shown.open = true;
    shown.more = box.children.length - drawn.length;
    shown.children = drawn.map((child) => ({ box: child, open: false, children: [], more: 0 }));
    count += drawn.length;
    queue.push(...shown.children.map((child): [Shown, number] => [child, depth + 1]));
  }
  return top;
}

/** The first ones, and in their place those that run or failed: they must not be hidden. */
function pick(children: Box[], room: number): Box[] {
  if (children.length <= room) return children;
  const loud = new Set(children.filter((child) => child.running > 0 || child.failed > 0).slice(0, room));
  for (const child of children) {
    if (loud.size >= room) break;
    loud.add(child);
  }
  return children.filter((child) => loud.has(child));
}
