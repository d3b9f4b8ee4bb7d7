import { useState } from "react";
import { api, Problem, type Estimate, type Workflow } from "../../api/client";
import { useTitle } from "../../live/list";
import { useLoaded } from "../../live/load";
import { Icon } from "../../parts/icons";
import { Bones, Card, Fold, ProblemNote } from "../../parts/parts";
import { go, usePlace, withQuery } from "../../route";
import { OptionField } from "./field";
import { flawOf, valuesOf, type Given } from "./values";

const OPEN = 4;
const BUDGETS = [
  { name: "usd", label: "Most dollars", flag: "1.00" },
  { name: "calls", label: "Most calls", flag: "50" },
  { name: "seconds", label: "Most seconds", flag: "600" },
] as const;

/** Choose by picture and one sentence; then a form that the workflow's own options draw. */
export function StartPage() {
  const place = usePlace();
  const { value, problem, again } = useLoaded("workflows", (signal) => api.workflows(signal));
  useTitle("New run");
  const chosen = value?.workflows.find((one) => one.name === place.query.get("workflow"));
  return (
    <>
      <div className="top">
        <h1>New run</h1>
      </div>
      {problem && <ProblemNote problem={problem} again={again} />}
      {!value && !problem && (
        <div className="card">
          <Bones />
        </div>
      )}
      <div className="start-form">
        <div className="workflows" role="group" aria-label="Workflow">
          {value?.workflows.map((one) => (
            <button
              key={one.name}
              type="button"
              className="choice"
              aria-pressed={chosen === one}
              onClick={() => go(withQuery(place, { workflow: one.name }), true)}
            >
              <strong>
                <Icon name={one.name} />
                {one.name}
              </strong>
              <span className="small">{one.title}</span>
            </button>
          ))}
        </div>
        {chosen ? (
          <StartForm key={chosen.name} workflow={chosen} />
        ) : (
          value && <p className="quiet">Choose what should work on your request.</p>
        )}
      </div>
    </>
  );
}

function StartForm({ workflow }: { workflow: Workflow }) {
  const models = useLoaded("models", (signal) => api.models(signal)).value;
  const [request, setRequest] = useState("");
  const [model, setModel] = useState("");
  const [given, setGiven] = useState<Given>({});
  const [budget, setBudget] = useState<Record<string, string>>({});
  const [gates, setGates] = useState<string[]>([]);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const flaws = workflow.options.filter((option) => flawOf(option, given[option.name] ?? ""));
  const flawed =
    flaws.length > 0 ||
    (workflow.needs_request && !request.trim()) ||
    Object.values(budget).some((one) => one !== "" && !(Number(one) >= 0));
  const fail = (error: unknown): void => setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
  const send = (): void => {
    setTried(true);
    setProblem(null);
    if (flawed) return;
    setBusy(true);
    const ceilings = Object.fromEntries(
      Object.entries(budget)
        .filter(([, one]) => one !== "")
        .map(([name, one]) => [name, Number(one)]),
    );
    api
      .start({
        workflow: workflow.name,
        request: request || " ",
        options: valuesOf(workflow.options, given),
        approve: gates,
        budget: ceilings,
        ...(model ? { model } : {}),
      })
      .then(
        (run) => go(`/runs/${run.run_id}`),
        (error: unknown) => {
          setBusy(false);
          fail(error);
        },
      );
  };
  const look = (): void => {
    setTried(true);
    setProblem(null);
    if (!flawed)
      api.estimate(workflow.name, { request, options: valuesOf(workflow.options, given) }).then(setEstimate, fail);
  };
  const field = (option: Workflow["options"][number]) => (
    <OptionField
      key={option.name}
      option={option}
      value={given[option.name] ?? ""}
      flaw={tried ? flawOf(option, given[option.name] ?? "") : ""}
      change={(value) => setGiven({ ...given, [option.name]: value })}
    />
  );
  const known = [
    "rehearsal",
    ...Object.values(models?.profiles ?? {}).flatMap((one) => one.models.map((each) => each.model)),
    ...(models?.providers ?? []).filter((one) => one.usable).flatMap((one) => Object.values(one.profiles)),
  ];
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Card title="Request">
        <div className="fields">
          <label>
            {workflow.needs_request ? "What should be done?" : "What should be done? (optional)"}
            <textarea
              rows={4}
              value={request}
              onChange={(event) => setRequest(event.target.value)}
              aria-invalid={tried && workflow.needs_request && !request.trim()}
              aria-describedby="request-flaw"
            />
          </label>
          {tried && workflow.needs_request && !request.trim() && (
            <p className="bad small" id="request-flaw">
              Say what should be done.
            </p>
          )}
          {workflow.text && <p className="quiet small prose">{workflow.text.replace(/([^\n])\n(?=[^\n])/g, "$1 ")}</p>}
        </div>
      </Card>
      <Card title="How">
        <div className="stack">
          <div className="fields two">
            <label>
              Model
              <input
                list="models"
                value={model}
                placeholder={models?.model ?? "as the settings say"}
                onChange={(event) => setModel(event.target.value)}
              />
              <span className="quiet small">“rehearsal” works offline and costs nothing.</span>
            </label>
            <datalist id="models">
              {[...new Set(known)].map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
            {workflow.options.slice(0, OPEN).map(field)}
          </div>
          {workflow.options.length > OPEN && (
            <Fold
              title={`${workflow.options.length - OPEN} more options`}
              open={tried && flaws.some((one) => workflow.options.indexOf(one) >= OPEN)}
            >
              <div className="fields two padded">{workflow.options.slice(OPEN).map(field)}</div>
            </Fold>
          )}
        </div>
      </Card>
      <Card title="Limits and gates">
        <div className="stack">
          <div className="fields two">
            {BUDGETS.map(({ name, label, flag }) => (
              <label key={name}>
                {label}
                <input
                  inputMode="decimal"
                  placeholder={`no ceiling, or for example ${flag}`}
                  value={budget[name] ?? ""}
                  aria-invalid={!((budget[name] ?? "") === "" || Number(budget[name]) >= 0)}
                  onChange={(event) => setBudget({ ...budget, [name]: event.target.value })}
                />
              </label>
            ))}
          </div>
          {workflow.gates.length > 0 && (
            <fieldset className="row wrap">
              <legend className="small quiet">Ask me before the run goes on with</legend>
              {workflow.gates.map((gate) => (
                <label key={gate} className="tick">
                  <input
                    type="checkbox"
                    checked={gates.includes(gate)}
                    onChange={(event) =>
                      setGates(event.target.checked ? [...gates, gate] : gates.filter((one) => one !== gate))
                    }
                  />
                  the {gate}
                </label>
              ))}
            </fieldset>
          )}
        </div>
      </Card>
      {estimate && (
        <div className="note" role="status">
          <div>
            {estimate.lines.map((line, index) => (
              <p key={index}>{line}</p>
            ))}
          </div>
        </div>
      )}
      {problem && <ProblemNote problem={problem} />}
      {tried && flawed && (
        <p className="bad" role="alert">
          Something above is not right yet.
        </p>
      )}
      <div className="row">
        <button className="primary" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
        {workflow.can_estimate && (
          <button type="button" onClick={look}>
            Estimate first
          </button>
        )}
      </div>
    </form>
  );
}
