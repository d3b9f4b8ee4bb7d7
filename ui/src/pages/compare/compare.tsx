import { api, type RunSummary, type RunView } from "../../api/client";
import { useTitle } from "../../live/list";
import { useLoaded } from "../../live/load";
import { useLiveRun, type LiveRun } from "../../live/run";
import { Bones, Card, Empty, Glyph, ProblemNote, StatusMark } from "../../parts/parts";
import { count, money, oneLine, span } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { settingsOf } from "./diff";
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
  const left = useLiveRun(a);
  const right = useLiveRun(b);
  const problem = left?.problem ?? right?.problem;
  if (problem) return <ProblemNote problem={problem} />;
  if (!left?.ready || !right?.ready)
    return (
      <div className="card">
        <Bones />
      </div>
    );
  return (
    <div className="stack">
      <Figures left={left} right={right} />
      <Settings left={left.view} right={right.view} />
      <StepPairs left={left} right={right} />
      <Outputs left={left} right={right} />
    </div>
  );
}

function Figures({ left, right }: { left: LiveRun; right: LiveRun }) {
  const rows: [string, (live: LiveRun) => React.ReactNode][] = [
    [
      "Run",
      (live) => (
        <Link to={`/runs/${live.id}`} className="mono">
          {live.id}
        </Link>
      ),
    ],
    ["Workflow", (live) => <Glyph workflow={live.view.workflow} />],
    ["Status", (live) => <StatusMark status={live.status} />],
    ["Quality", (live) => <span className="num">{live.view.quality_text}</span>],
    ["Cost", (live) => <span className="num">{money(live.view.usage.cost_usd)}</span>],
    ["Calls", (live) => <span className="num">{live.view.usage.calls}</span>],
    [
      "Tokens",
      (live) => <span className="num">{count(live.view.usage.input_tokens + live.view.usage.output_tokens)}</span>,
    ],
    ["Took", (live) => <span className="num">{span(live.view.driven_s)}</span>],
  ];
  return (
    <Card title="In figures" flush>
      <table className="sides">
        <tbody>
          {rows.map(([name, show]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{show(left)}</td>
              <td>{show(right)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Settings({ left, right }: { left: RunView; right: RunView }) {
  const [a, b] = [settingsOf(left), settingsOf(right)];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name]);
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
                <td>{a[name] ?? ""}</td>
                <td>{b[name] ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
