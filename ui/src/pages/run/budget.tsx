import type { LiveRun } from "../../live/run";
import { Card, Meter } from "../../parts/parts";
import { nothing } from "../../fold/events";
import { count, money, span } from "../../parts/words";
import { Agents } from "./overview";

export function BudgetTab({ live }: { live: LiveRun }) {
  const { fold } = live;
  const usage = fold.spent(live.status);
  const held = live.status === "running" ? fold.held : nothing();
  const tokens = usage.input + usage.output;
  const rows = [
    { name: "Dollars", spent: usage.usd, held: held.usd, ceiling: fold.budget.usd, show: money },
    { name: "Calls", spent: usage.calls, held: held.calls, ceiling: fold.budget.calls, show: count },
    {
      name: "Tokens",
      spent: tokens,
      held: held.input + held.output,
      ceiling: fold.budget.tokens,
      show: count,
    },
    { name: "Time", spent: fold.drivenS, held: 0, ceiling: fold.budget.seconds, show: span },
  ];
  return (
    <div className="split even">
      <Card title="Spent against the ceilings">
        <div className="meters">
          {rows.map((row) => (
            <div key={row.name} className="stack" style={{ gap: 4 }}>
              <div className="row">
                <h3 className="grow">{row.name}</h3>
                <span className="num">
                  {row.show(row.spent)}
                  {row.ceiling !== null ? ` / ${row.show(row.ceiling)}` : ""}
                </span>
              </div>
              {row.ceiling !== null ? (
                <Meter
                  spent={row.spent}
                  reserved={row.held}
                  ceiling={row.ceiling}
                  label={`${row.name} spent of the ceiling`}
                />
              ) : (
                <span className="quiet small">No ceiling was set.</span>
              )}
              {row.held > 0 && row.ceiling !== null && (
                <span className="quiet small">Hatched: at most {row.show(row.held)} more for calls under way.</span>
              )}
            </div>
          ))}
          {fold.saved.calls > 0 && (
            <p>
              The cache saved {fold.saved.calls} calls and {money(fold.saved.usd)}.
            </p>
          )}
          {usage.unknown > 0 && (
            <p className="warn">
              {count(usage.unknown)} of these calls have an unknown outcome: the process died while they were under way.
              The most that they can have cost is counted.
            </p>
          )}
          {fold.usage.unpriced > 0 && <p className="warn">{fold.usage.unpriced} calls had no known price.</p>}
        </div>
      </Card>
      <Card title="By agent" flush>
        <Agents live={live} />
      </Card>
    </div>
  );
}
