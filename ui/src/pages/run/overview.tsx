import { memo, useEffect, useRef } from "react";
import { files } from "../../api/client";
import type { Charge, LogEvent } from "../../fold/events";
import { tell } from "../../fold/telling";
import { seconds } from "../../fold/steps";
import { useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Card, Empty } from "../../parts/parts";
import { clock, count, many, money, size, span } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";

const SHOWN = 400;

/** Is it going well, what has it cost, what has it made, does it need me. */
export function OverviewTab({ live }: { live: LiveRun }) {
  const { fold } = live;
  const done = fold.delivered;
  return (
    <div className="split">
      <div className="stack">
        {done && (
          <Card
            title="The result"
            flush
            aside={
              <a className="small" href={files.reportAs(live.id, "md")} target="_blank" rel="noreferrer">
                As Markdown
              </a>
            }
          >
            <iframe className="report" title="Report" sandbox="" src={files.report(live.id)} />
          </Card>
        )}
        {!done && <Now live={live} />}
        <Card title="Activity" flush>
          <Activity live={live} />
        </Card>
      </div>
      <div className="stack">
        <Card title="Request">
          <p className="prose">{fold.request}</p>
        </Card>
        {(fold.warnings.length > 0 || fold.missing.length > 0) && (
          <Card title="Worth knowing">
            <ul className="list">
              {fold.warnings.map((one, index) => (
                <li key={index} className="row">
                  <span className="warn">
                    <Icon name="warn" />
                  </span>
                  <span>{one}</span>
                </li>
              ))}
              {fold.missing.map((one) => (
                <li key={one} className="row">
                  <span className="warn">
                    <Icon name="warn" />
                  </span>
                  <span>Missing: {one}</span>
                </li>
              ))}
            </ul>
          </Card>
        )}
        <Made live={live} />
        <Card title="Who worked" flush>
          <Agents live={live} />
        </Card>
      </div>
    </div>
  );
}

function Now({ live }: { live: LiveRun }) {
  const now = useNow(1000, live.status === "running");
  const running = [...live.fold.steps.running].flatMap((path) => live.fold.steps.byPath.get(path) ?? []);
  return (
    <Card title="Now" aside={<span className="quiet small">{many(running.length, "step")} under way</span>}>
      {running.length === 0 && (
        <p className="quiet">
          {live.status === "waiting"
            ? "The run waits for your answer above."
            : live.status === "queued"
              ? "Waiting for a free place."
              : "Nothing is under way."}
        </p>
      )}
      <ul className="list">
        {running.slice(0, 12).map((step) => (
          <li key={step.path} className="appear">
            <div className="row">
              <span className="accent">
                <Icon name="running" />
              </span>
              <strong>{step.agent || step.path}</strong>
              <span className="quiet cut grow">{step.task || step.kind}</span>
              <span className="num">{span(seconds(step, now))}</span>
            </div>
            {live.typing.has(step.path) && (
              <p className="typing quiet small">{live.typing.get(step.path)?.slice(-240)}</p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Made({ live }: { live: LiveRun }) {
  const place = usePlace();
  const made = [...live.fold.artifacts.values()];
  if (made.length === 0) return null;
  return (
    <Card title="Files" aside={<span className="quiet small">{made.length}</span>}>
      <ul className="list">
        {made
          .slice(-8)
          .reverse()
          .map((one) => (
            <li key={one.path} className="row">
              <Icon name="file" />
              <button
                className="link cut grow"
                style={{ display: "block", textAlign: "left" }}
                onClick={() => go(withQuery(place, { tab: "artifacts", file: one.id }))}
              >
                {one.name}
                <span className="quiet small"> {one.path.replace(/\/?artifact\[.*\]$/, "")}</span>
              </button>
              <span className="num quiet">{size(one.bytes)}</span>
            </li>
          ))}
      </ul>
    </Card>
  );
}

const tokens = (sum: Charge): number => sum.input + sum.output;

export function Agents({ live }: { live: LiveRun }) {
  const sums = [...live.fold.agents].filter(([, sum]) => sum.calls > 0);
  if (sums.length === 0) return <Empty title="No model was asked yet." />;
  const rows = sums.sort(([, one], [, other]) => other.usd - one.usd || tokens(other) - tokens(one));
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Who worked">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col" className="right">
              Calls
            </th>
            <th scope="col" className="right">
              Tokens
            </th>
            <th scope="col" className="right">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, sum]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="right num">{sum.calls}</td>
              <td className="right num">{count(tokens(sum))}</td>
              <td className="right num">{money(sum.usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Newest last; it follows, unless somebody has scrolled up. */
function Activity({ live }: { live: LiveRun }) {
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const lines = live.fold.important.slice(-SHOWN);
  const last = lines.at(-1)?.seq;
  useEffect(() => {
    if (follow.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [last]);
  return (
    <div
      className="activity"
      ref={box}
      role="log"
      tabIndex={0}
      aria-label="Activity"
      onScroll={(event) => {
        const at = event.currentTarget;
        follow.current = at.scrollHeight - at.scrollTop - at.clientHeight < 24;
      }}
    >
      {lines.map((event) => (
        <Line key={event.seq} event={event} />
      ))}
    </div>
  );
}

/** An event never changes, so its line is drawn once. */
const Line = memo(function Line({ event }: { event: LogEvent }) {
  const told = tell(event);
  return (
    <div className={`line ${told.weight}`}>
      <span className="num quiet">{clock(event.time)}</span>
      <span className="mono quiet cut where">{event.path}</span>
      <span>{told.line}</span>
    </div>
  );
});
