import type { RunSummary } from "../../api/client";
import { Meter } from "../../parts/parts";
import { count, money, span } from "../../parts/words";

interface Share {
  name: string;
  spent: number;
  ceiling: number;
  show: (value: number) => string;
}

/** Usage of a run for each of its limits. */
export function sharesOf(run: RunSummary): Share[] {
  const { budget } = run;
  const all = [
    { name: "dollars", spent: run.cost_usd, ceiling: budget.usd, show: money },
    { name: "calls", spent: run.calls, ceiling: budget.calls, show: count },
    { name: "tokens", spent: run.tokens, ceiling: budget.tokens, show: count },
    { name: "time", spent: run.duration_s, ceiling: budget.seconds, show: span },
  ];
  return all.flatMap(({ ceiling, ...share }) => (ceiling === null ? [] : [{ ...share, ceiling }]));
}

const partOf = (share: Share): number => (share.ceiling > 0 ? share.spent / share.ceiling : 1);

/** The cost, and the ceiling that is nearest: money first, unless another one is tighter. */
export function Spend({ run }: { run: RunSummary }) {
  const shares = sharesOf(run);
  const nearest = shares.reduce<Share | null>(
    (best, share) => (best && partOf(best) >= partOf(share) ? best : share),
    null,
  );
  const text = shares.map(({ show, spent, ceiling, name }) => `${show(spent)} of ${show(ceiling)} ${name}`).join(", ");
  return (
    <span className="spend" title={text || `${run.calls} calls, no ceiling`}>
      <span className="num">
        {money(run.cost_usd)}
        {run.budget.usd !== null && <span className="quiet"> / {money(run.budget.usd)}</span>}
        {nearest && nearest.name !== "dollars" && run.budget.usd === null && (
          <span className="quiet">
            {" "}
            · {nearest.show(nearest.spent)} / {nearest.show(nearest.ceiling)}{" "}
            {nearest.name === "time" ? "" : nearest.name}
          </span>
        )}
      </span>
      {nearest && (
        <Meter
          thin
          spent={nearest.spent}
          ceiling={nearest.ceiling}
          label={`${nearest.show(nearest.spent)} of ${nearest.show(nearest.ceiling)} ${nearest.name}`}
        />
      )}
    </span>
  );
}
