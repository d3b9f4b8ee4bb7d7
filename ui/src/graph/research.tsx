import type { ResearchFold, Worker } from "../fold/research";
import { Icon } from "../parts/icons";
import { oneLine } from "../parts/words";
import { AsTable } from "./table";

const MARKS: Record<string, string> = {
  running: "running",
  completed: "completed",
  kept: "completed",
  skipped: "partial",
  failed: "failed",
};

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
        <ol className="strip" aria-label="States">
          {fold.phases.map((phase, index) => (
            <li key={index} aria-current={index === fold.phases.length - 1 ? "step" : undefined} title={phase.reason}>
              {phase.to}
              {phase.iteration > 1 && <span className="num"> ·{phase.iteration}</span>}
            </li>
          ))}
        </ol>
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
        {laps.map((lap) => (
          <section key={lap} className="stack">
            <h3>Iteration {lap}</h3>
            <div className="grid">
              {workers
                .filter((one) => one.iteration === lap)
                .map((one) => (
                  <WorkerCard key={`${lap}-${one.id}`} one={one} pick={pick} />
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
  const told = Object.entries(one.result)
    .filter(([, value]) => typeof value === "number" || typeof value === "string")
    .slice(0, 2);
  return (
    <button className={`dept face appear ${one.status}`} onClick={() => pick(one.path)} title={one.error}>
      <span className={`status ${mark}`}>
        <Icon name={mark} label={one.status} />
      </span>
      <span className="grow">
        <strong className="cut block">{one.id.replaceAll("_", " ")}</strong>
        <span className="quiet small cut block">
          {one.error ||
            told
              .map(
                ([name, value]) =>
                  `${name.replaceAll("_", " ")} ${typeof value === "number" ? Math.round(value * 100) / 100 : oneLine(String(value), 40)}`,
              )
              .join(" · ") ||
            one.category}
        </span>
      </span>
      {one.attempts > 1 && <span className="chip">{one.attempts}×</span>}
    </button>
  );
}
