import type { ResearchFold, Worker } from "../fold/research";
import { Icon } from "../parts/icons";
import { Fold } from "../parts/parts";
import { oneLine } from "../parts/words";
import { gistOf } from "./gist";
import { AsTable } from "./table";

const MARKS: Record<string, string> = {
  running: "running",
  completed: "completed",
  kept: "completed",
  skipped: "partial",
  failed: "failed",
};

const MOST_SOURCES = 200;

/** The state machine as a strip with its laps, workers as a grid, and how each lap was judged. */
export function ResearchGraph({
  fold,
  least,
  pick,
}: {
  fold: ResearchFold;
  least: number;
  pick: (path: string) => void;
}) {
  const sources = fold.sources ?? fold.found.size;
  const workers = [...fold.workers.values()];
  const laps = [...new Set(workers.map((one) => one.iteration))].sort((a, b) => a - b);
  return (
    <>
      <div className="padded stack">
        <States fold={fold} />
        <div className="row wrap">
          <span>
            <strong className="num">{sources}</strong> sources
            {least > 0 && `, at least ${least} are wanted`}
            {fold.words !== null && ` · ${fold.words} words`}
          </span>
          {least > 0 && (
            <div style={{ width: 160 }}>
              <Enough have={sources} least={least} />
            </div>
          )}
        </div>
        <Sources fold={fold} />
        {laps.map((lap) => (
          <Lap key={lap} lap={lap} fold={fold} workers={workers.filter((one) => one.iteration === lap)} pick={pick} />
        ))}
      </div>
      <AsTable
        columns={["Iteration", "Worker", "Status", "Attempts", "Result"]}
        pick={pick}
        rows={() =>
          workers.map((one) => ({
            path: one.path,
            cells: [
              String(one.iteration),
              one.id,
              one.status,
              String(one.attempts),
              oneLine(JSON.stringify(one.result), 120),
            ],
          }))
        }
      />
    </>
  );
}

/** A lap through the states a row: the machine goes back to planning until the result is good enough. */
function States({ fold }: { fold: ResearchFold }) {
  const laps = [...new Set(fold.phases.map((phase) => phase.iteration))];
  const last = fold.phases.at(-1);
  return (
    <div className="laps" role="group" aria-label="States">
      {laps.map((lap) => (
        <div key={lap} className="row">
          <span className="quiet small lap-name">Lap {lap}</span>
          <ol className="strip">
            {fold.phases
              .filter((phase) => phase.iteration === lap)
              .map((phase, index) => (
                <li key={index} aria-current={phase === last ? "step" : undefined} title={phase.reason}>
                  {phase.to.replaceAll("_", " ")}
                </li>
              ))}
          </ol>
        </div>
      ))}
    </div>
  );
}

function Sources({ fold }: { fold: ResearchFold }) {
  if (fold.found.size === 0) return null;
  return (
    <Fold title={`Sources that were found (${fold.found.size})`}>
      <ol className="document list">
        {[...fold.found.values()].slice(0, MOST_SOURCES).map((one) => (
          <li key={one.url}>
            {one.title} <span className="chip">{one.kind}</span> <Address url={one.url} />
          </li>
        ))}
      </ol>
    </Fold>
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

function Lap({
  lap,
  fold,
  workers,
  pick,
}: {
  lap: number;
  fold: ResearchFold;
  workers: Worker[];
  pick: (path: string) => void;
}) {
  return (
    <section className="stack" aria-label={`Iteration ${lap}`}>
      <h3>Iteration {lap}</h3>
      <div className="grid">
        {workers.map((one) => (
          <WorkerCard key={one.id} one={one} pick={pick} />
        ))}
      </div>
      {fold.evaluations
        .filter((one) => one.iteration === lap)
        .map((one, index) => (
          <div key={index} className="note">
            <span>
              Quality <strong className="num">{one.quality.toFixed(2)}</strong> of {one.threshold.toFixed(2)}:{" "}
              {one.decision.replaceAll("_", " ")}
              {one.feedback.length > 0 && ` · ${one.feedback.join(" ")}`}
            </span>
          </div>
        ))}
    </section>
  );
}

function Enough({ have, least }: { have: number; least: number }) {
  return (
    <div
      className="meter"
      role="meter"
      aria-label="Sources found of those that are wanted"
      aria-valuemin={0}
      aria-valuemax={least}
      aria-valuenow={Math.min(have, least)}
    >
      <i style={{ width: `${Math.min(1, have / least) * 100}%` }} />
    </div>
  );
}

function WorkerCard({ one, pick }: { one: Worker; pick: (path: string) => void }) {
  const mark = MARKS[one.status] ?? "queued";
  return (
    <button className={`dept face appear ${one.status}`} onClick={() => pick(one.path)} title={one.error}>
      <span className={`status ${mark}`}>
        <Icon name={mark} label={one.status} />
      </span>
      <span className="grow">
        <strong className="cut block">{one.id.replaceAll("_", " ")}</strong>
        <span className="quiet small cut block">{one.error || gistOf(one.result).join(" · ") || one.category}</span>
      </span>
      {one.attempts > 1 && <span className="chip">{one.attempts}×</span>}
    </button>
  );
}
