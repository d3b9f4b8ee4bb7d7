import { memo, useEffect, useMemo, useRef } from "react";
import { files, type LogEvent, type Usage } from "../../api/client";
import { secondsOf, stepsOf } from "../../graph/steps";
import { useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Card, Empty } from "../../parts/parts";
import { clock, count, many, money, size, span } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { newestFirst } from "./artifacts";
import { Chat } from "./chat";
import { EventLine, isActivity, weightOf } from "./line";

const SHOWN = 400;

/** Is it going well, what has it cost, what has it made, does it need me. */
export function OverviewTab({ live }: { live: LiveRun }) {
  const { delivered, request, warnings, missing, detail } = live.view;
  const chat = detail?.kind === "chat" ? detail : null;
  return (
    <div className="split">
      <div className="stack">
        {chat && <Chat live={live} chat={chat} />}
        {delivered && !chat && (
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
        {!delivered && !chat && <Now live={live} />}
        <Card title="Activity" flush>
          <Activity live={live} />
        </Card>
      </div>
      <div className="stack">
        <Card title="Request">
          <p className="prose">{request}</p>
        </Card>
        {(warnings.length > 0 || missing.length > 0) && (
          <Card title="Worth knowing">
            <ul className="list">
              {warnings.map((warning, index) => (
                <li key={index} className="row">
                  <span className="warn">
                    <Icon name="warn" />
                  </span>
                  <span>{warning}</span>
                </li>
              ))}
              {missing.map((part) => (
                <li key={part} className="row">
                  <span className="warn">
                    <Icon name="warn" />
                  </span>
                  <span>Missing: {part}</span>
                </li>
              ))}
            </ul>
          </Card>
        )}
        <Files live={live} />
        <Card title="Who worked" flush>
          <Agents live={live} />
        </Card>
      </div>
    </div>
  );
}

function Now({ live }: { live: LiveRun }) {
  const now = useNow(1000, live.status === "running");
  const running = live.driven ? stepsOf(live.view).filter((step) => step.status === "running") : [];
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
              <span className="num">{span(secondsOf(step, now))}</span>
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

function Files({ live }: { live: LiveRun }) {
  const place = usePlace();
  const artifacts = newestFirst(live.view);
  if (artifacts.length === 0) return null;
  return (
    <Card title="Files" aside={<span className="quiet small">{artifacts.length}</span>}>
      <ul className="list">
        {artifacts.slice(0, 8).map(({ seq, id, name, branch, bytes }) => (
          <li key={seq} className="row">
            <Icon name="file" />
            <button
              className="link cut grow"
              style={{ display: "block", textAlign: "left" }}
              onClick={() => go(withQuery(place, { tab: "artifacts", file: id }))}
            >
              {name}
              <span className="quiet small"> {branch}</span>
            </button>
            <span className="num quiet">{size(bytes)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const tokens = (usage: Usage): number => usage.input_tokens + usage.output_tokens;

export function Agents({ live }: { live: LiveRun }) {
  const rows = Object.entries(live.view.agents).sort(
    ([, a], [, b]) => b.cost_usd - a.cost_usd || tokens(b) - tokens(a),
  );
  if (rows.length === 0) return <Empty title="No model was asked yet." />;
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
          {rows.map(([name, usage]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="right num">{usage.calls}</td>
              <td className="right num">{count(tokens(usage))}</td>
              <td className="right num">{money(usage.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The newest lines, newest last. The list follows them, unless the reader has scrolled up. */
function Activity({ live }: { live: LiveRun }) {
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const { events } = live;
  const shown = useMemo(() => events.filter(isActivity).slice(-SHOWN), [events]);
  const last = shown.at(-1)?.seq;
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
      {(!live.complete || shown[0]?.seq !== events.find(isActivity)?.seq) && (
        <Link className="line small" to={`/runs/${live.id}?tab=transcript`}>
          Earlier events are in the transcript.
        </Link>
      )}
      {shown.map((event) => (
        <Line key={event.seq} event={event} />
      ))}
    </div>
  );
}

/** An event never changes, so its line is drawn once. */
const Line = memo(function Line({ event }: { event: LogEvent }) {
  return (
    <div className={`line ${weightOf(event)}`}>
      <span className="num quiet">{clock(event.time)}</span>
      <span className="mono quiet cut where">{event.path}</span>
      <EventLine event={event} />
    </div>
  );
});
