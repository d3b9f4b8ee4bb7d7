import {
  Background,
  Controls,
  Handle,
  MiniMap,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { memo, useMemo, useState } from "react";
import { Icon } from "../parts/icons";
import { money } from "../parts/words";
import type { Box } from "./boxes";
import { collapse, type Shown } from "./collapse";
import { bandLayout, flowLayout, HEIGHT, WIDTH } from "./layout";
import { AsTable, type TableRow } from "./table";

/** Everything that a box shows, so that it is drawn again only if that changes. */
const lookOf = ({ shown: { box, open, more, children }, selected }: BoxData): string =>
  [box.status, box.title, box.note, box.usd, box.nodes, box.failed, open, more, children.length, selected].join();

interface BoxData extends Record<string, unknown> {
  shown: Shown;
  selected: boolean;
  down: boolean;
  pick: (path: string) => void;
  toggle: (id: string, open: boolean) => void;
}
type BoxNode = Node<BoxData, "box">;
type BandNode = Node<{ name: string }, "band">;

const kinds = {
  box: memo(BoxMark, (before, after) => lookOf(before.data) === lookOf(after.data)),
  band: memo(BandMark, (before, after) => before.data.name === after.data.name),
};
const FITS = 24;
const DRAWN = { animated: false, focusable: false, selectable: false } as const;

/** A graph that can be collapsed: bands as rows for trees, plain branches for everything else. */
export function Canvas({
  root,
  banded,
  selected,
  pick,
}: {
  root: Box;
  banded: boolean;
  selected: string | null;
  pick: (path: string) => void;
}) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const { nodes, edges, opened } = useMemo(() => {
    const toggle = (id: string, open: boolean): void => setChosen((before) => new Map(before).set(id, open));
    const drawing = banded ? bandLayout(collapse(root, chosen)) : flowLayout(collapse(root, chosen));
    const bands: BandNode[] = drawing.bands.map((band) => ({
      id: band.id,
      type: "band",
      position: { x: band.x, y: band.y },
      data: { name: band.name },
      zIndex: -1,
      style: { width: band.width, height: band.height },
      width: band.width,
      height: band.height,
      selectable: false,
    }));
    const boxes: BoxNode[] = drawing.placed.map(({ shown, x, y }) => ({
      id: shown.box.id,
      type: "box",
      position: { x, y },
      width: WIDTH,
      height: HEIGHT,
      data: { shown, selected: shown.box.path === selected, down: banded, pick, toggle },
    }));
    const wires: Edge[] = drawing.wires.map((wire) => ({
      id: `${wire.from}>${wire.to}`,
      source: wire.from,
      target: wire.to,
      type: "smoothstep",
      ...DRAWN,
    }));
    // A graph that is too large to be read at once opens on what is under way, or on its beginning.
    const active = boxes.filter(({ data: { shown } }) => shown.box.running > 0 && !shown.open);
    const opened =
      boxes.length <= FITS ? [...bands, ...boxes] : active.length > 0 ? active.slice(0, 12) : boxes.slice(0, 12);
    return { nodes: [...bands, ...boxes], edges: wires, opened };
  }, [root, banded, chosen, selected, pick]);
  return (
    <>
      <div className="canvas">
        <ReactFlow<BoxNode | BandNode>
          nodes={nodes}
          edges={edges}
          nodeTypes={kinds}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: 0.6, padding: 0.06, nodes: opened }}
          minZoom={0.05}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          onlyRenderVisibleElements
          proOptions={{ hideAttribution: true }}
          aria-label="Graph of the run"
        >
          <Background gap={24} />
          <Controls showInteractive={false} />
          {nodes.length > 12 && (
            <MiniMap
              pannable
              zoomable
              ariaLabel="Map of the graph"
              nodeColor="var(--line-strong)"
              maskColor="var(--mask)"
            />
          )}
        </ReactFlow>
      </div>
      <AsTable columns={["Status", "Node", "Below it", "Cost"]} rows={() => rowsOf(root)} pick={pick} />
    </>
  );
}

function rowsOf(root: Box): TableRow[] {
  const rows: TableRow[] = [];
  const visit = (box: Box): void => {
    rows.push({
      path: box.path,
      cells: [box.status, box.title || box.path, String(box.nodes - 1), money(box.usd)],
    });
    box.children.forEach(visit);
  };
  visit(root);
  return rows;
}

function BandMark({ data }: NodeProps<BandNode>) {
  return (
    <div className="band">
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="cut">{data.name}</span>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

function BoxMark({ data }: NodeProps<BoxNode>) {
  const { shown, selected, down, pick, toggle } = data;
  const { box } = shown;
  const below = box.nodes - 1;
  return (
    <div className={`box appear ${box.status}${selected ? " chosen" : ""}`}>
      <Handle type="target" position={down ? Position.Top : Position.Left} isConnectable={false} />
      <button className="face" onClick={() => pick(box.path)} title={box.title}>
        <span className={`status ${box.status}`}>
          <Icon name={box.status} label={box.status} />
        </span>
        <span className="grow">
          <span className="name">{box.title || box.path}</span>
          <span className="cut block quiet small">
            {box.note || box.status}
            {box.usd > 0 && shown.children.length === 0 && ` · ${money(box.usd)}`}
          </span>
        </span>
      </button>
      {below > 0 && (
        <button className="turn" onClick={() => toggle(box.id, !shown.open)} aria-expanded={shown.open}>
          {shown.open
            ? shown.more > 0
              ? `${shown.more} not shown`
              : "−"
            : `${below} nodes${box.usd > 0 ? ` · ${money(box.usd)}` : ""}${box.failed > 0 ? ` · ${box.failed} failed` : ""}`}
          <span className="only-read"> below {box.title}</span>
        </button>
      )}
      <Handle type="source" position={down ? Position.Bottom : Position.Right} isConnectable={false} />
    </div>
  );
}
