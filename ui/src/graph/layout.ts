import { hierarchy, tree } from "d3-hierarchy";
import { own } from "../live/patch";
import type { Shown } from "./collapse";

export interface Placed {
  shown: Shown;
  x: number;
  y: number;
}

export interface Band {
  id: string;
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Wire {
  from: string;
  to: string;
}

export interface Drawing {
  placed: Placed[];
  bands: Band[];
  wires: Wire[];
}

export const WIDTH = 216;
export const HEIGHT = 62;
const GAP = 16;
const ROW = 34;
const LABEL = 24;

/** From left to right, as tight as it goes. */
export function flowLayout(root: Shown): Drawing {
  const laid = tree<Shown>()
    .nodeSize([HEIGHT + 12, WIDTH + 56])
    .separation(() => 1)(hierarchy(root, (node) => node.children));
  const drawing: Drawing = { placed: [], bands: [], wires: [] };
  for (const node of laid.descendants()) {
    drawing.placed.push({ shown: node.data, x: node.y, y: node.x });
    if (node.parent) drawing.wires.push({ from: node.parent.data.box.id, to: node.data.box.id });
  }
  return drawing;
}

/** Top-down, the bands of a plan as rows inside the frame of their node: a band begins when the node above is done. */
export function bandLayout(root: Shown): Drawing {
  const drawing: Drawing = { placed: [], bands: [], wires: [] };
  const sizes = new Map<Shown, Size>();
  measure(root, sizes);
  put(root, 0, 0, sizes, drawing);
  return drawing;
}

interface Size {
  width: number;
  height: number;
  rows: { band: number; children: Shown[]; width: number; height: number }[];
}

function measure(node: Shown, sizes: Map<Shown, Size>): Size {
  const bands = new Map<number, Shown[]>();
  for (const child of node.children) bands.set(child.box.band, [...(bands.get(child.box.band) ?? []), child]);
  const rows = [...bands]
    .sort(([a], [b]) => a - b)
    .map(([band, children]) => {
      const inner = children.map((child) => measure(child, sizes));
      const width = inner.reduce((sum, child) => sum + child.width, 0) + GAP * (children.length + 1);
      return { band, children, width, height: Math.max(...inner.map((child) => child.height)) + LABEL + GAP };
    });
  const size = {
    width: Math.max(WIDTH, ...rows.map((row) => row.width)),
    height: HEIGHT + rows.reduce((sum, row) => sum + row.height + ROW, 0),
    rows,
  };
  sizes.set(node, size);
  return size;
}

function put(node: Shown, x: number, y: number, sizes: Map<Shown, Size>, drawing: Drawing): void {
  const size = sizes.get(node);
  if (!size) return;
  drawing.placed.push({ shown: node, x: x + (size.width - WIDTH) / 2, y });
  let top = y + HEIGHT + ROW;
  let before = node.box.id;
  for (const row of size.rows) {
    const left = x + (size.width - row.width) / 2;
    const id = `${node.box.id}#${row.band}`;
    const goal = own(node.box.bandNames, String(row.band));
    drawing.bands.push({
      id,
      name: goal || `Band ${row.band + 1}`,
      x: left,
      y: top,
      width: row.width,
      height: row.height,
    });
    drawing.wires.push({ from: before, to: id });
    before = id;
    let at = left + GAP;
    for (const child of row.children) {
      put(child, at, top + LABEL, sizes, drawing);
      at += (sizes.get(child)?.width ?? WIDTH) + GAP;
    }
    top += row.height + ROW;
  }
}
