import type { BuildFold } from "../fold/build";
import { Icon } from "../parts/icons";
import { Fold } from "../parts/parts";
import { AsTable } from "./table";

const MARKS: Record<string, string> = {
  pending: "queued",
  in_progress: "running",
  running: "running",
  completed: "completed",
  failed: "failed",
  skipped: "partial",
};
const LOOP = ["planning", "executing", "testing", "verifying"];
const WHO: Record<string, string> = {
  planning: "planner",
  executing: "coder",
  testing: "tester",
  verifying: "supervisor",
};

/** The plan as a checklist with sub-plans indented, beside the loop with the place where it stands. */
export function BuildGraph({ fold, pick }: { fold: BuildFold; pick: (path: string) => void }) {
  const phase = fold.phases.at(-1);
  const steps = fold.checklist();
  return (
    <>
      <div className="padded build-view">
        <section className="stack" aria-label="Plan">
          <h3>
            Plan
            {fold.branch && (
              <>
                {" "}
                on <code>{fold.branch}</code>
              </>
            )}
          </h3>
          {steps.length === 0 && <p className="quiet">No plan yet.</p>}
          <ol className="checklist">
            {steps.map((step) => (
              <li
                key={step.id}
                style={{ marginLeft: step.depth * 20 }}
                aria-current={step.id === fold.current ? "step" : undefined}
                className="appear"
              >
                <span className={`status ${MARKS[step.status] ?? "queued"}`}>
                  <Icon name={MARKS[step.status] ?? "queued"} label={step.status} />
                </span>
                <span className="grow">
                  <button className="link" onClick={() => pick(step.path)}>
                    {step.title}
                  </button>
                  <span className="quiet small block">
                    {[
                      step.attempts > 1 && `${step.attempts} attempts`,
                      step.files.length > 0 && step.files.join(", "),
                      step.reason,
                    ]
                      .filter(Boolean)
                      .join(" · ")}
                  </span>
                </span>
                {step.tests && (
                  <span className={`chip ${step.tests.failed ? "warn" : ""}`}>
                    {step.tests.passed} passed
                    {step.tests.failed > 0 && `, ${step.tests.failed} failed`}
                  </span>
                )}
                {step.score !== null && <span className="num">{step.score.toFixed(step.score <= 1 ? 2 : 0)}</span>}
              </li>
            ))}
          </ol>
        </section>
        <section className="stack" aria-label="Where it stands">
          <h3>Where it stands</h3>
          <ol className="strip">
            {(phase && !LOOP.includes(phase.status) ? [...LOOP, phase.status] : LOOP).map((one) => (
              <li key={one} aria-current={phase?.status === one ? "step" : undefined}>
                {WHO[one] ?? one}
              </li>
            ))}
          </ol>
          {phase && (
            <p className="small quiet">
              Iteration {phase.iteration}
              {fold.level && fold.level !== "NONE" && `, level ${fold.level}`}
            </p>
          )}
          {fold.commits.map((one) => (
            <p key={one.sha} className="small">
              <code>{one.sha.slice(0, 8)}</code> {one.message}
            </p>
          ))}
          {fold.diff && (
            <Fold title="Diff" open>
              <pre className="document" tabIndex={0}>
                {fold.diff}
              </pre>
            </Fold>
          )}
        </section>
      </div>
      <AsTable
        columns={["Status", "Step", "Attempts", "Tests"]}
        pick={pick}
        rows={() =>
          steps.map((step) => ({
            path: step.path,
            cells: [
              step.status,
              step.title,
              String(step.attempts),
              step.tests ? `${step.tests.passed} passed, ${step.tests.failed} failed` : "",
            ],
          }))
        }
      />
    </>
  );
}
