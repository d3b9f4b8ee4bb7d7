import { useCallback, useMemo, useRef } from "react";
import { number } from "../../fold/events";
import { boxesOfSteps, boxesOfTree } from "../../graph/boxes";
import { BuildGraph } from "../../graph/build";
import { Canvas } from "../../graph/canvas";
import { CouncilGraph } from "../../graph/council";
import { ResearchGraph } from "../../graph/research";
import { StudioGraph } from "../../graph/studio";
import { useCalmly } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Bones, Card, Empty } from "../../parts/parts";
import { many, oneLine } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { Selected } from "./step";

const MANY = 300;
/** What research wants where nothing else was said. */
const LEAST_SOURCES = 10;

/** The picture of this workflow, or its steps; what is selected stands beside it. */
export function GraphTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const at = useRef(place);
  at.current = place;
  const pick = useCallback((path: string) => go(withQuery(at.current, { step: path || "." }), true), []);
  const steps = place.query.get("view") === "steps";
  const given = place.query.get("step");
  const selected = given === "." ? "" : given;
  const own = live.fold.detail !== null && live.fold.workflow !== "tree";
  return (
    <div className={selected === null ? "split whole" : "split"}>
      <Card
        title="Graph"
        flush
        aside={
          own ? (
            <span className="segment" role="group" aria-label="View">
              <button aria-pressed={!steps} onClick={() => go(withQuery(place, { view: "" }), true)}>
                {live.fold.workflow}
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

function Picture({
  live,
  steps,
  selected,
  pick,
}: {
  live: LiveRun;
  steps: boolean;
  selected: string | null;
  pick: (path: string) => void;
}) {
  const { fold } = live;
  const { detail } = fold;
  if (live.link === "loading") return <Reading events={fold.lastSeq} />;
  if (fold.steps.byPath.size === 0) return <Empty title="Nothing has begun yet." />;
  if (!steps && detail?.kind === "studio") return <StudioGraph fold={detail} selected={selected} pick={pick} />;
  if (!steps && detail?.kind === "council") return <CouncilGraph fold={detail} pick={pick} />;
  if (!steps && detail?.kind === "research")
    return <ResearchGraph fold={detail} least={number(fold.options.min_sources, LEAST_SOURCES)} pick={pick} />;
  if (!steps && detail?.kind === "build") return <BuildGraph fold={detail} pick={pick} />;
  return <Boxes live={live} selected={selected} pick={pick} />;
}

/** A picture of half a log would open at the wrong place. */
function Reading({ events }: { events: number }) {
  return (
    <div role="status">
      <Bones rows={8} />
      <p className="padded quiet small">Reading the log: {many(events, "event")} so far.</p>
    </div>
  );
}

function Boxes({ live, selected, pick }: { live: LiveRun; selected: string | null; pick: (path: string) => void }) {
  const { fold } = live;
  const steps = fold.steps.byPath.size;
  const version = useCalmly(fold.version, steps > MANY ? 1000 : 100);
  const status = live.status;
  const tree = fold.detail?.kind === "tree" && fold.detail.root !== "";
  const root = useMemo(
    () =>
      (fold.detail?.kind === "tree" && boxesOfTree(fold.detail)) ||
      boxesOfSteps(fold.steps.all, oneLine(fold.request, 80), status),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the fold is one object; its version tells that it grew
    [fold, version, status],
  );
  return <Canvas root={root} banded={tree} selected={selected} pick={pick} />;
}
