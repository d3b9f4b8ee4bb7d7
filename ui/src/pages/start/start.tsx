import { api } from "../../api/client";
import { useTitle } from "../../live/list";
import { useLoaded } from "../../live/load";
import { Icon } from "../../parts/icons";
import { Bones, Empty, ProblemNote } from "../../parts/parts";
import { go, usePlace, withQuery } from "../../route";
import { StartForm } from "./form";

/** Choose by picture and one sentence; then a form that the workflow's own options draw. */
export function StartPage() {
  const place = usePlace();
  const { value, problem, again } = useLoaded("workflows", (signal) => api.workflows(signal));
  useTitle("New run");
  const chosen = value?.workflows.find((workflow) => workflow.name === place.query.get("workflow"));
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
          {value?.workflows.map((workflow) => (
            <button
              key={workflow.name}
              type="button"
              className="choice"
              aria-pressed={chosen === workflow}
              onClick={() => go(withQuery(place, { workflow: workflow.name }), true)}
            >
              <strong>
                <Icon name={workflow.name} />
                {workflow.name}
              </strong>
              <span className="small">{workflow.title}</span>
            </button>
          ))}
        </div>
        {chosen && <StartForm key={chosen.name} workflow={chosen} />}
        {value && !chosen && (
          <div className="card">
            <Empty title="What should work on your request?">
              <p>Choose one of the {value.workflows.length} above. “rehearsal” as its model tries it without cost.</p>
            </Empty>
          </div>
        )}
      </div>
    </>
  );
}
