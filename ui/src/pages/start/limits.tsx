import type { Workflow } from "../../api/client";
import { DIMENSIONS } from "../../parts/dimensions";
import { Card } from "../../parts/parts";
import { budgetFlaw, type Draft } from "./state";

/** Budget and approval gates of the run. */
export function Limits({
  workflow,
  draft,
  change,
}: {
  workflow: Workflow;
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}) {
  const turn = (gate: string, on: boolean): void =>
    change({ gates: on ? [...draft.gates, gate] : draft.gates.filter((name) => name !== gate) });
  return (
    <Card title="Limits and gates">
      <div className="stack">
        <div className="fields four">
          {DIMENSIONS.map(({ name, label, example }) => {
            const value = draft.budget[name] ?? "";
            return (
              <label key={name}>
                {label}
                <input
                  inputMode="decimal"
                  placeholder={`none, or ${example}`}
                  value={value}
                  aria-invalid={budgetFlaw(value) !== ""}
                  onChange={(event) => change({ budget: { ...draft.budget, [name]: event.target.value } })}
                />
                {budgetFlaw(value) && <span className="bad small">{budgetFlaw(value)}</span>}
              </label>
            );
          })}
        </div>
        {workflow.gates.length > 0 && (
          <fieldset className="row wrap">
            <legend className="small quiet">Ask me before the run goes on with</legend>
            {workflow.gates.map((gate) => (
              <label key={gate} className="tick">
                <input
                  type="checkbox"
                  checked={draft.gates.includes(gate)}
                  onChange={(event) => turn(gate, event.target.checked)}
                />
                the {gate}
              </label>
            ))}
          </fieldset>
        )}
      </div>
    </Card>
  );
}
