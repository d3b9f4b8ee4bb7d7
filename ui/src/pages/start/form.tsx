import type { Workflow } from "../../api/client";
import { Card, Disclosure, ProblemNote } from "../../parts/parts";
import { OptionField } from "./field";
import { Limits } from "./limits";
import { ModelField } from "./model";
import { useDraft, type Draft } from "./state";
import { flawOf } from "./values";

const OPEN = 4;
/** Options that are rarely needed are folded away even on wide screens. */
const RARE = /^allow_/;

interface Part {
  workflow: Workflow;
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  tried: boolean;
}

export function StartForm({ workflow }: { workflow: Workflow }) {
  const { draft, change, tried, flawed, busy, problem, estimate, start, look } = useDraft(workflow);
  const part = { workflow, draft, change, tried };
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <Request {...part} />
      <Options {...part} />
      <Limits {...part} />
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

function Request({ workflow, draft, change, tried }: Part) {
  const missing = tried && workflow.needs_request && !draft.request.trim();
  return (
    <Card title="Request">
      <div className="fields">
        <label>
          {workflow.needs_request ? "What should be done?" : "What should be done? (optional)"}
          <textarea
            rows={4}
            value={draft.request}
            aria-invalid={missing}
            aria-describedby="request-flaw"
            onChange={(event) => change({ request: event.target.value })}
          />
        </label>
        {missing && (
          <p className="bad small" id="request-flaw">
            Say what should be done.
          </p>
        )}
        {workflow.text && <p className="quiet small prose">{workflow.text.replace(/([^\n])\n(?=[^\n])/g, "$1 ")}</p>}
      </div>
    </Card>
  );
}

function Options({ workflow, draft, change, tried }: Part) {
  const usual = workflow.options.filter((option) => !RARE.test(option.name));
  const open = usual.slice(0, OPEN);
  const rest = workflow.options.filter((option) => !open.includes(option));
  const flaw = (option: Workflow["options"][number]): string => flawOf(option, draft.options[option.name] ?? "");
  const field = (option: Workflow["options"][number]) => (
    <OptionField
      key={option.name}
      option={option}
      value={draft.options[option.name] ?? ""}
      flaw={tried ? flaw(option) : ""}
      change={(value) => change({ options: { ...draft.options, [option.name]: value } })}
    />
  );
  return (
    <Card title="How">
      <div className="stack">
        <div className="fields two">
          <ModelField value={draft.model} change={(model) => change({ model })} />
          {open.map(field)}
        </div>
        {rest.length > 0 && (
          <Disclosure title={`${rest.length} more`} open={tried && rest.some((option) => flaw(option) !== "")}>
            <div className="fields two padded">{rest.map(field)}</div>
          </Disclosure>
        )}
      </div>
    </Card>
  );
}
