import type { LiveRun } from "../../live/run";
import { DIMENSIONS } from "../../parts/dimensions";
import { Card, Meter } from "../../parts/parts";
import { count, money, span } from "../../parts/words";
import { Agents } from "./overview";

export function BudgetTab({ live }: { live: LiveRun }) {
  const { budget, saved, driven_s, usage: spent, usage_at_rest, reserved } = live.view;
  const usage = live.driven ? spent : usage_at_rest;
  const share = live.status === "running" ? 1 : 0;
  const rows = DIMENSIONS.map(({ name, title, show, of }) => ({
    name: title,
    spent: of ? of(usage) : driven_s,
    held: of ? of(reserved) * share : 0,
    ceiling: budget[name],
    show,
  }));
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
                  {row.ceiling !== undefined ? ` / ${row.show(row.ceiling)}` : ""}
                </span>
              </div>
              {row.ceiling !== undefined ? (
                <Meter
                  spent={row.spent}
                  reserved={row.held}
                  ceiling={row.ceiling}
                  label={`${row.name} spent of the ceiling`}
                />
              ) : (
                <span className="quiet small">No ceiling was set.</span>
              )}
              {row.held > 0 && row.ceiling !== undefined && (
                <span className="quiet small">Hatched: at most {row.show(row.held)} more for calls under way.</span>
              )}
            </div>
          ))}
          {saved.calls > 0 && (
            <p>
              The cache saved {saved.calls} calls and {money(saved.cost_usd)}.
            </p>
          )}
          {usage.unknown_calls && (
            <p className="warn">
              {count(usage.unknown_calls)} of these calls have an unknown outcome: the process died while they were
              under way. The most that they can have cost is counted.
            </p>
          )}
          {usage.unpriced_calls && <p className="warn">{usage.unpriced_calls} calls had no known price.</p>}
        </div>
      </Card>
      <div className="stack">
        <Card title="By agent" flush>
          <Agents live={live} />
        </Card>
        {Object.keys(live.view.tools).length > 0 && (
          <Card title="By tool" flush>
            <Tools live={live} />
          </Card>
        )}
      </div>
    </div>
  );
}

function Tools({ live }: { live: LiveRun }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Cost by tool">
      <table>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            {["Calls", "Failed", "Time", "Cost"].map((title) => (
              <th key={title} scope="col" className="right">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Object.entries(live.view.tools).map(([name, { calls, failed, seconds = 0, cost_usd = 0 }]) => (
            <tr key={name}>
              <td>{name}</td>
              <td className="right num">{calls}</td>
              <td className="right num">{failed}</td>
              <td className="right num">{span(seconds)}</td>
              <td className="right num">{money(cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
