import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import type { LiveRun } from "../../live/run";
import { DIMENSIONS } from "../../parts/dimensions";
import { Dialog, ProblemNote } from "../../parts/parts";

/** Go on where the run stopped; ceilings are new totals, not additions. */
export function ResumeDialog({ live, close, done }: { live: LiveRun; close: () => void; done: (id: string) => void }) {
  const [limits, setLimits] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    const budget = Object.fromEntries(
      Object.entries(limits)
        .filter(([, value]) => value.trim())
        .map(([name, value]) => [name, Number(value)]),
    );
    setBusy(true);
    api.resume(live.id, { budget }).then(
      (run) => {
        close();
        done(run.run_id);
      },
      (error: unknown) => {
        setBusy(false);
        setProblem(problemOf(error));
      },
    );
  };
  return (
    <Dialog title="Resume this run" close={close}>
      <p>Finished steps are not run or paid again. Raise a ceiling if one stopped the run: give the new total.</p>
      <div className="fields two">
        {DIMENSIONS.map(({ name, label }) => (
          <label key={name}>
            {label}
            <input
              inputMode="decimal"
              value={limits[name] ?? ""}
              placeholder={live.view.budget[name]?.toString() ?? "no ceiling"}
              onChange={(event) => setLimits({ ...limits, [name]: event.target.value })}
            />
          </label>
        ))}
      </div>
      {problem && <ProblemNote problem={problem} />}
      <div className="foot">
        <button onClick={close}>Not now</button>
        <button className="primary" disabled={busy} onClick={send}>
          Resume
        </button>
      </div>
    </Dialog>
  );
}
