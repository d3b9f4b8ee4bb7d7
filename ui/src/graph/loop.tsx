import type { BuildFold } from "../fold/build";

const LOOP = [
  { phase: "planning", who: "Planner", does: "plans" },
  { phase: "executing", who: "Coder", does: "writes code and tests" },
  { phase: "testing", who: "Tester", does: "runs and reviews them" },
  { phase: "verifying", who: "Supervisor", does: "checks the result" },
] as const;

/** Who has the work now: the loop goes back to the coder until the tests pass and the supervisor agrees. */
export function BuildLoop({ fold }: { fold: BuildFold }) {
  const phase = fold.phases.at(-1);
  const outside = phase && !LOOP.some((one) => one.phase === phase.status) ? phase.status.replaceAll("_", " ") : "";
  return (
    <section className="loop" aria-label="Where it stands">
      <ol>
        {LOOP.map((one) => (
          <li key={one.phase} aria-current={phase?.status === one.phase ? "step" : undefined}>
            <strong>{one.who}</strong>
            <span className="small">{one.does}</span>
          </li>
        ))}
      </ol>
      <p className="small quiet">
        {outside && <strong>{outside}</strong>}
        {phase && phase.iteration > 0 && ` iteration ${phase.iteration}`}
        {fold.level && fold.level !== "NONE" && `, level ${fold.level}`}
      </p>
    </section>
  );
}
