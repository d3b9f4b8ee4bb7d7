import type { ResearchFold, Worker } from "../fold/research";
import { Icon } from "../parts/icons";
import { oneLine } from "../parts/words";
import { AsTable } from "./table";

const MARKS: Record<string, string> = { running: "running", completed: "completed", kept: "completed", skipped: "partial", failed: "failed" };

/** The state machine as a strip with its laps, workers as a grid, and how each lap was judged. */
export function ResearchGraph({ fold, pick }: { fold: ResearchFold; pick: (path: string) => void }) {
  const workers = [...fold.workers.values()];
  const laps = [...new Set(workers.map((one) => one.iteration))].sort((a, b) => a - b);
  return (
    <>
      <div className="padded stack">
        <ol className="strip" aria-label="States">
          {fold.phases.map((phase, index) => (
            <li key={index} aria-current={index === fold.phases.length - 1 ? "step" : undefined} title={phase.reason}>{phase.to}{phase.iteration > 1 && <span className="num"> ·{phase.iteration}</span>}</li>
          ))}
        </ol>
        {fold.sources !== null && <p><strong className="num">{fold.sources}</strong> sources{fold.words !== null && <>, <strong className="num">{fold.words}</strong> words</>}</p>}
        {laps.map((lap) => (
          <section key={lap} className="stack">
            <h3>Iteration {lap}</h3>
            <div className="grid">{workers.filter((one) => one.iteration === lap).map((one) => <WorkerCard key={`${lap}-${one.id}`} one={one} pick={pick} />)}</div>
            {fold.evaluations.filter((one) => one.iteration === lap).map((one, index) => (
              <div key={index} className="note"><span>Quality <strong className="num">{one.quality.toFixed(2)}</strong> of {one.threshold.toFixed(2)}: {one.decision.replaceAll("_", " ")}{one.feedback.length > 0 && ` · ${one.feedback.join(" ")}`}</span></div>
            ))}
          </section>
        ))}
      </div>
      <AsTable columns={["Iteration", "Worker", "Status", "Attempts", "Result"]} pick={pick}
        rows={() => workers.map((one) => ({ path: "", cells: [String(one.iteration), one.id, one.status, String(one.attempts), oneLine(JSON.stringify(one.result), 120)] }))} />
    </>
  );
}

function WorkerCard({ one, pick }: { one: Worker; pick: (path: string) => void }) {
  const mark = MARKS[one.status] ?? "queued";
  const told = Object.entries(one.result).filter(([, value]) => typeof value === "number" || typeof value === "string").slice(0, 2);
  return (
    <button className={`dept face appear ${one.status}`} onClick={() => pick("")} title={one.error}>
      <span className={`status ${mark}`}><Icon name={mark} label={one.status} /></span>
      <span className="grow"><strong className="cut block">{one.id.replaceAll("_", " ")}</strong>
        <span className="quiet small cut block">{one.error || told.map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" ? Math.round(value * 100) / 100 : oneLine(String(value), 40)}`).join(" · ") || one.category}</span></span>
      {one.attempts > 1 && <span className="chip">{one.attempts}×</span>}
    </button>
  );
}
