import { memo, useCallback, useMemo, useRef } from "react";
import { seconds, type Step } from "../../fold/steps";
import { timelineOf, type Bar } from "../../fold/timeline";
import { useCalmly, useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Card, Empty } from "../../parts/parts";
import { count, money, span } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { AsTable } from "../../graph/table";
import { Selected } from "./step";

const LANE = 20;
const MANY = 300;

export function TimelineTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const selected = place.query.get("step");
  const many = live.fold.steps.byPath.size > MANY;
  const now = useNow(many ? 5000 : 1000, live.status === "running");
  const version = useCalmly(live.fold.version, many ? 2000 : 200);
  const line = useMemo(
    () => timelineOf(live.fold.steps.all, now),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the fold is one object; its version tells that it grew
    [live, version, now],
  );
  const at = useRef(place);
  at.current = place;
  const pick = useCallback((path: string) => go(withQuery(at.current, { step: path }), true), []);
  if (line.rows.length === 0)
    return (
      <div className="card">
        <Empty title="Nothing has begun yet." />
      </div>
    );
  return (
    <div className={selected === null ? "split whole" : "split"}>
      <Card
        title="Who worked when"
        flush
        aside={
          <span className="quiet small">
            {span(line.seconds)} of work{line.gaps.length > 0 && ", waits compressed"} ·{" "}
            <span className="key-critical" /> critical path
          </span>
        }
      >
        <div className="timeline" role="group" aria-label="Timeline" tabIndex={0}>
          {line.rows.map((row) => (
            <div className="agent" key={row.agent}>
              <div className="who cut" title={row.agent}>
                {row.agent}
              </div>
              <div className="lanes" style={{ height: row.lanes * LANE + 8 }}>
                {line.gaps.map((gap) => (
                  <i
                    key={gap.at}
                    className="gap"
                    style={{ left: `${gap.at * 100}%` }}
                    title={`Waited ${span(gap.seconds)}`}
                  />
                ))}
                {row.bars.map((bar) => (
                  <BarShown key={bar.step.path} bar={bar} selected={bar.step.path === selected} now={now} pick={pick} />
                ))}
              </div>
            </div>
          ))}
        </div>
        <AsTable
          columns={["Agent", "Task", "Status", "Took", "Tokens", "Cost"]}
          rows={() =>
            line.rows.flatMap((row) =>
              row.steps.map((step) => ({
                path: step.path,
                cells: [
                  row.agent,
                  step.task || step.path,
                  step.status,
                  span(seconds(step, now)),
                  count(step.charge.input + step.charge.output),
                  money(step.charge.usd),
                ],
              })),
            )
          }
          pick={pick}
        />
      </Card>
      {selected !== null && <Selected live={live} path={selected} />}
    </div>
  );
}

const near = (one: number, other: number): boolean => Math.abs(one - other) < 0.0005;
/** Drawn again only where it moved by what an eye can see. */
const BarShown = memo(
  BarMark,
  (one, other) =>
    one.selected === other.selected &&
    one.bar.status === other.bar.status &&
    one.bar.status !== "running" &&
    near(one.bar.from, other.bar.from) &&
    near(one.bar.to, other.bar.to) &&
    one.bar.lane === other.bar.lane &&
    one.bar.steps === other.bar.steps &&
    one.bar.critical === other.bar.critical,
);

function toldOf(step: Step, now: number): string {
  const { charge } = step;
  const tokens = `${count(charge.input)} to ${count(charge.output)} tokens`;
  const prompt = `prompt of ${count(step.prompt.length)} characters`;
  const took = span(seconds(step, now));
  return `${step.task || step.path}: ${step.status}, ${took}, ${prompt}, ${tokens}, ${money(charge.usd)}`;
}

function BarMark({
  bar,
  selected,
  now,
  pick,
}: {
  bar: Bar;
  selected: boolean;
  now: number;
  pick: (path: string) => void;
}) {
  const { step } = bar;
  const told = bar.steps > 1 ? `${bar.steps} steps, the first one ${toldOf(step, now)}` : toldOf(step, now);
  const name = bar.steps > 1 ? `${bar.steps} steps` : step.task || step.path.split("/").at(-1);
  const width = bar.to - bar.from;
  return (
    <button
      tabIndex={-1}
      className={`bar ${bar.status}${bar.critical ? " critical" : ""}`}
      aria-pressed={selected}
      title={told}
      aria-label={told}
      style={{ left: `${bar.from * 100}%`, width: `max(3px, ${width * 100}%)`, top: bar.lane * LANE + 4 }}
      onClick={() => pick(step.path)}
    >
      {width > 0.045 && <span className="cut">{name}</span>}
      {bar.cuts.map((cut) => (
        <i key={cut} className="cutmark" style={{ left: `${((cut - bar.from) / (width || 1)) * 100}%` }} />
      ))}
    </button>
  );
}
