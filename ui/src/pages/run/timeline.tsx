import { memo, useCallback, useMemo, useRef } from "react";
import { secondsOf, stepsOf, titleOf, type Step } from "../../graph/steps";
import { AsTable } from "../../graph/table";
import { timelineOf, type Bar } from "../../graph/timeline";
import { useCalmly, useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Card, Empty } from "../../parts/parts";
import { count, money, span } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { Selected } from "./step";

const LANE = 20;
const MANY = 300;

export function TimelineTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const selected = place.query.get("step");
  const many = stepsOf(live.view).length > MANY;
  const now = live.until(useNow(many ? 5000 : 1000, live.status === "running"));
  const { steps } = useCalmly(live.view, many ? 2000 : 200);
  const timeline = useMemo(() => timelineOf(stepsOf({ steps }), now), [steps, now]);
  const latest = useRef(place);
  latest.current = place;
  const pick = useCallback((path: string) => go(withQuery(latest.current, { step: path }), true), []);
  if (timeline.rows.length === 0)
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
            {span(timeline.seconds)} of work{timeline.gaps.length > 0 && ", waits compressed"} ·{" "}
            <span className="key-critical" /> critical path
          </span>
        }
      >
        <div className="timeline" role="group" aria-label="Timeline" tabIndex={0}>
          {timeline.rows.map((row) => (
            <div className="agent" key={row.agent}>
              <div className="who cut" title={row.agent}>
                {row.agent}
              </div>
              <div className="lanes" style={{ height: row.lanes * LANE + 8 }}>
                {timeline.gaps.map((gap) => (
                  <i
                    key={gap.at}
                    className="gap"
                    style={{ left: `${gap.at * 100}%` }}
                    title={`Waited ${span(gap.seconds)}`}
                  />
                ))}
                {row.bars.map((bar) => (
                  <MemoBar key={bar.step.path} bar={bar} selected={bar.step.path === selected} now={now} pick={pick} />
                ))}
              </div>
            </div>
          ))}
        </div>
        <AsTable
          columns={["Agent", "Task", "Status", "Took", "Tokens", "Cost"]}
          rows={() =>
            timeline.rows.flatMap((row) =>
              row.steps.map((step) => ({
                path: step.path,
                cells: [
                  row.agent,
                  step.task || step.path,
                  step.status,
                  span(secondsOf(step, now)),
                  count(step.usage.input_tokens + step.usage.output_tokens),
                  money(step.usage.cost_usd),
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

const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.0005;
/** Drawn again only where it moved by what an eye can see. */
const MemoBar = memo(
  BarMark,
  ({ bar: before, ...more }, { bar: after, selected }) =>
    more.selected === selected &&
    before.status === after.status &&
    before.status !== "running" &&
    near(before.from, after.from) &&
    near(before.to, after.to) &&
    before.lane === after.lane &&
    before.steps === after.steps &&
    before.critical === after.critical,
);

function describe(step: Step, now: number): string {
  const { usage, prompt_chars } = step;
  return [
    `${step.task || step.path}: ${step.status}`,
    span(secondsOf(step, now)),
    prompt_chars && `prompt of ${count(prompt_chars)} characters`,
    `${count(usage.input_tokens)} to ${count(usage.output_tokens)} tokens`,
    money(usage.cost_usd),
  ]
    .filter(Boolean)
    .join(", ");
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
  const description = bar.steps > 1 ? `${bar.steps} steps, the first one ${describe(step, now)}` : describe(step, now);
  const name = bar.steps > 1 ? `${bar.steps} steps` : titleOf(step);
  const width = bar.to - bar.from;
  return (
    <button
      tabIndex={-1}
      className={`bar ${bar.status}${bar.critical ? " critical" : ""}`}
      aria-pressed={selected}
      title={description}
      aria-label={description}
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
