import { api, type RunSummary } from "../../api/client";
import { settingsOf } from "../../fold/compare";
import type { RunFold } from "../../fold/run";
import { useTitle } from "../../live/list";
import { useLoaded } from "../../live/load";
import { useLiveRun, type LiveRun } from "../../live/run";
import { Bones, Card, Empty, Glyph, ProblemNote, StatusMark } from "../../parts/parts";
import { count, money, oneLine, points, span } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { Outputs } from "./outputs";
import { StepPairs } from "./steps";

/** Two runs side by side: settings, steps, scores, cost, output. */
export function ComparePage() {
  const place = usePlace();
  const [a, b] = [place.query.get("a") ?? "", place.query.get("b") ?? ""];
  const runs = useLoaded("recent", (signal) => api.runs(new URLSearchParams({ limit: "100" }), signal));
  useTitle("Compare");
  const pick = (name: string, id: string): void => go(withQuery(place, { [name]: id }), true);
  return (
    <>
      <div className="top">
        <h1>Compare two runs</h1>
      </div>
      {runs.problem && <ProblemNote problem={runs.problem} />}
      <div className="fields two spaced">
        <Pick label="One run" value={a} runs={runs.value?.runs ?? []} pick={(id) => pick("a", id)} />
        <Pick label="The other" value={b} runs={runs.value?.runs ?? []} pick={(id) => pick("b", id)} />
      </div>
      {a && b ? (
        <Both key={`${a} ${b}`} a={a} b={b} />
      ) : (
        <div className="card">
          <Empty title="Choose two runs.">A fork and the run that it comes from, for example.</Empty>
        </div>
      )}
    </>
  );
}

function Pick({
  label,
  value,
  runs,
  pick,
}: {
  label: string;
  value: string;
  runs: readonly RunSummary[];
  pick: (id: string) => void;
}) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => pick(event.target.value)}>
        <option value="">Choose…</option>
        {value && !runs.some((run) => run.run_id === value) && <option value={value}>{value}</option>}
        {runs.map((run) => (
          <option key={run.run_id} value={run.run_id}>
            {run.run_id} · {run.workflow} · {oneLine(run.request, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Both({ a, b }: { a: string; b: string }) {
  const one = useLiveRun(a);
  const other = useLiveRun(b);
  const problem = one?.problem ?? other?.problem;
  if (problem) return <ProblemNote problem={problem} />;
  if (!one || !other || one.link !== "live" || other.link !== "live")
    return (
      <div className="card">
        <Bones />
      </div>
    );
  return (
    <div className="stack">
      <Figures one={one} other={other} />
      <Settings one={one.fold} other={other.fold} />
      <StepPairs one={one} other={other} />
      <Outputs one={one} other={other} />
    </div>
  );
}

function Figures({ one, other }: { one: LiveRun; other: LiveRun }) {
  const rows: [string, (live: LiveRun) => React.ReactNode][] = [
    [
      "Run",
      (live) => (
        <Link to={`/runs/${live.id}`} className="mono">
          {live.id}
        </Link>
      ),
    ],
    ["Workflow", (live) => <Glyph workflow={live.fold.workflow} />],
    ["Status", (live) => <StatusMark status={live.status} />],
    ["Quality", (live) => <span className="num">{live.fold.quality === null ? "" : points(live.fold.quality)}</span>],
    ["Cost", (live) => <span className="num">{money(live.fold.usage.usd)}</span>],
    ["Calls", (live) => <span className="num">{live.fold.usage.calls}</span>],
    ["Tokens", (live) => <span className="num">{count(live.fold.usage.input + live.fold.usage.output)}</span>],
    ["Took", (live) => <span className="num">{span(live.fold.drivenS)}</span>],
  ];
  return (
    <Card title="In figures" flush>
      <table className="sides">
        <tbody>
          {rows.map(([name, show]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{show(one)}</td>
              <td>{show(other)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Settings({ one, other }: { one: RunFold; other: RunFold }) {
  const [left, right] = [settingsOf(one), settingsOf(other)];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (name) => left[name] !== right[name],
  );
  return (
    <Card title="What was set differently" flush>
      {names.length === 0 ? (
        <Empty title="Nothing: both were started alike." />
      ) : (
        <table className="sides">
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{left[name] ?? ""}</td>
                <td>{right[name] ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
