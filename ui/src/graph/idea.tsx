import type { Idea } from "../api/client";
import { Icon } from "../parts/icons";

/** An idea with its rank, its score by each criterion, and the arguments for and against it. */
export function IdeaCard({ id, idea }: { id: string; idea: Idea }) {
  const scored = idea.score !== undefined;
  return (
    <details className={`idea appear${idea.chosen ? " chosen" : ""}`}>
      <summary>
        <span className="row">
          <span className="num quiet">{scored ? `${idea.rank}.` : id}</span>
          <strong className="grow">{idea.title}</strong>
          {idea.chosen && (
            <span className="chip accent">
              <Icon name="completed" />
              chosen
            </span>
          )}
          {scored && <span className={`num ${idea.low ? "warn" : ""}`}>{idea.score_text}</span>}
        </span>
      </summary>
      <div className="stack small">
        <p className="prose">{idea.description}</p>
        {idea.version > 1 && <p className="quiet">Version {idea.version}, revised in the discussion</p>}
        {Object.entries(idea.criteria).map(([name, value]) => (
          <div key={name} className="criterion">
            <span>{name}</span>
            <div
              className="meter thin"
              role="meter"
              aria-label={name}
              aria-valuemin={0}
              aria-valuemax={10}
              aria-valuenow={value}
            >
              <i style={{ width: `${value * 10}%` }} />
            </div>
            <span className="num">{value.toFixed(1)}</span>
          </div>
        ))}
        {idea.pros.map((argument) => (
          <p key={argument}>+ {argument}</p>
        ))}
        {idea.cons.map((argument) => (
          <p key={argument}>− {argument}</p>
        ))}
        {idea.feedback && <p className="prose quiet">{idea.feedback}</p>}
      </div>
    </details>
  );
}
