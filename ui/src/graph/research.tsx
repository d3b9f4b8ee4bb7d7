import type { ResearchView, Worker } from "../api/client";
import { Icon } from "../parts/icons";
import { Disclosure } from "../parts/parts";
import { numbered, ordered } from "./order";
import { AsTable } from "./table";

type Pick = (path: string) => void;

const MOST_SOURCES = 200;

/** The state machine as a strip with its laps, workers as a grid, and how each lap was judged. */
export function ResearchGraph({ view, pick }: { view: ResearchView; pick: Pick }) {
  const workers = ordered(view.workers);
  const laps = [...new Set(workers.map((worker) => worker.lap))].sort((a, b) => a - b);
  return (
    <>
      <div className="padded stack">
        <Phases view={view} />
        <div className="row wrap">
          <span>
            {view.sources_text}
            {view.words !== undefined && ` · ${view.words.toLocaleString("en-US")} words`}
          </span>
          {view.sources_wanted > 0 && (
            <div style={{ width: 160 }}>
              <SourceMeter count={view.sources_count} wanted={view.sources_wanted} />
            </div>
          )}
        </div>
        <Sources view={view} />
        {laps.map((lap) => (
          <Lap key={lap} lap={lap} view={view} workers={workers.filter((worker) => worker.lap === lap)} pick={pick} />
        ))}
      </div>
      <AsTable
        columns={["Iteration", "Worker", "Status", "Attempts", "Result"]}
        pick={pick}
        rows={() =>
          workers.map(({ lap, path, name, label, attempts, text }) => ({
            path,
            cells: [String(lap), name, label, String(attempts), text],
          }))
        }
      />
    </>
  );
}

/** A lap through the states a row: the machine goes back to planning until the result is good enough. */
function Phases({ view }: { view: ResearchView }) {
  const phases = numbered(view.phases);
  const laps = [...new Set(phases.map(([, phase]) => phase.lap))];
  return (
    <div className="laps" role="group" aria-label="States">
      {laps.map((lap) => (
        <div key={lap} className="row">
          <span className="quiet small lap-name">Lap {lap}</span>
          <ol className="strip">
            {phases
              .filter(([, phase]) => phase.lap === lap)
              .map(([number, { text, reason, current }]) => (
                <li key={number} aria-current={current ? "step" : undefined} title={reason}>
                  {text}
                </li>
              ))}
          </ol>
        </div>
      ))}
    </div>
  );
}

function Sources({ view }: { view: ResearchView }) {
  const sources = ordered(view.sources);
  if (sources.length === 0) return null;
  return (
    <Disclosure title={`Sources that were found (${sources.length})`}>
      <ol className="document list">
        {sources.slice(0, MOST_SOURCES).map(({ id: url, title, kind }) => (
          <li key={url}>
            {title} <span className="chip">{kind}</span> <Address url={url} />
          </li>
        ))}
      </ol>
    </Disclosure>
  );
}

/** Only addresses of the web can be followed: a model may have written anything here. */
function Address({ url }: { url: string }) {
  if (!/^https?:\/\//i.test(url)) return <span className="mono quiet wrap-any">{url}</span>;
  return (
    <a className="mono wrap-any" href={url} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  );
}

function Lap({ lap, view, workers, pick }: { lap: number; view: ResearchView; workers: Worker[]; pick: Pick }) {
  const evaluation = view.evaluations[String(lap)];
  return (
    <section className="stack" aria-label={`Iteration ${lap}`}>
      <h3>Iteration {lap}</h3>
      <div className="grid">
        {workers.map((worker) => (
          <WorkerCard key={worker.order} worker={worker} pick={pick} />
        ))}
      </div>
      {evaluation && (
        <div className="note">
          <span>
            {evaluation.text}
            {evaluation.feedback.length > 0 && ` · ${evaluation.feedback.join(" ")}`}
          </span>
        </div>
      )}
    </section>
  );
}

function SourceMeter({ count, wanted }: { count: number; wanted: number }) {
  return (
    <div
      className="meter"
      role="meter"
      aria-label="Sources found of those that are wanted"
      aria-valuemin={0}
      aria-valuemax={wanted}
      aria-valuenow={Math.min(count, wanted)}
    >
      <i style={{ width: `${Math.min(1, count / wanted) * 100}%` }} />
    </div>
  );
}

function WorkerCard({ worker, pick }: { worker: Worker; pick: Pick }) {
  const { name, path, status, label, text, error, attempts } = worker;
  return (
    <button className={`dept face appear ${status}`} onClick={() => pick(path)} title={error}>
      <span className={`status ${status}`}>
        <Icon name={status} label={label} />
      </span>
      <span className="grow">
        <strong className="cut block">{name}</strong>
        <span className="quiet small cut block">{text}</span>
      </span>
      {attempts > 1 && <span className="chip">{attempts}×</span>}
    </button>
  );
}
