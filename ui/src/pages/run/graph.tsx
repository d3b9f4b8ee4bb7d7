import { useCallback, useMemo, useRef } from "react";
import type { RunView } from "../../api/client";
import { boxesOfSteps, boxesOfTree } from "../../graph/boxes";
import { BuildGraph } from "../../graph/build";
import { Canvas } from "../../graph/canvas";
import { CouncilGraph } from "../../graph/council";
import { ResearchGraph } from "../../graph/research";
import { stepsOf } from "../../graph/steps";
import { StudioGraph } from "../../graph/studio";
import { useCalmly } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Card, Empty } from "../../parts/parts";
import { oneLine } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { ScoresNote } from "./grade";
import { Selected } from "./step";

const MANY = 300;
/** Workflows with a picture of their own; every other one is drawn by its steps. */
const OWN = new Set<string | undefined>(["studio", "council", "research", "build"]);

/** The picture of this workflow, or its steps; what is selected stands beside it. */
export function GraphTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const latest = useRef(place);
  latest.current = place;
  const pick = useCallback((path: string) => go(withQuery(latest.current, { step: path || "." }), true), []);
  const steps = place.query.get("view") === "steps";
  const step = place.query.get("step");
  const selected = step === "." ? "" : step;
  const { view } = live;
  return (
    <div className={selected === null ? "split whole" : "split"}>
      <Card
        title="Graph"
        flush
        aside={
          OWN.has(view.detail?.kind) ? (
            <span className="segment" role="group" aria-label="View">
              <button aria-pressed={!steps} onClick={() => go(withQuery(place, { view: "" }), true)}>
                {view.workflow}
              </button>
              <button aria-pressed={steps} onClick={() => go(withQuery(place, { view: "steps" }), true)}>
                all steps
              </button>
            </span>
          ) : undefined
        }
      >
        <Picture live={live} steps={steps} selected={selected} pick={pick} />
      </Card>
      {selected !== null && <Selected live={live} path={selected} />}
    </div>
  );
}

interface PictureProps {
  live: LiveRun;
  selected: string | null;
  pick: (path: string) => void;
}

function Picture({ live, steps, selected, pick }: PictureProps & { steps: boolean }) {
  const { view } = live;
  const { detail } = view;
  if (Object.keys(view.steps).length === 0) return <Empty title="Nothing has begun yet." />;
  if (steps || !OWN.has(detail?.kind)) return <Boxes live={live} selected={selected} pick={pick} />;
  return (
    <>
      <ScoresNote view={view} />
      {detail?.kind === "studio" && <StudioGraph view={detail} selected={selected} pick={pick} />}
      {detail?.kind === "council" && <CouncilGraph view={detail} pick={pick} />}
      {detail?.kind === "research" && <ResearchGraph view={detail} pick={pick} />}
      {detail?.kind === "build" && <BuildGraph view={detail} pick={pick} />}
    </>
  );
}

function Boxes({ live, selected, pick }: PictureProps) {
  const many = Object.keys(live.view.steps).length > MANY;
  const view = useCalmly(live.view, many ? 1000 : 100);
  const { status } = live;
  const banded = treeOf(view);
  const root = useMemo(
    () => (banded && boxesOfTree(banded)) || boxesOfSteps(stepsOf(view), oneLine(view.request, 80), status),
    [banded, view, status],
  );
  return <Canvas root={root} banded={banded !== null} selected={selected} pick={pick} />;
}

const treeOf = ({ detail }: RunView) => (detail?.kind === "tree" && detail.root ? detail : null);
