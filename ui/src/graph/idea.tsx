import type { Idea } from "../fold/council";
import { Icon } from "../parts/icons";

/** An idea with its rank, what it scored by each criterion, and what speaks for and against it. */
export function IdeaCard({ idea, rank, min, chosen }: { idea: Idea; rank: number; min: number; chosen: boolean }) {
  return (
    <details className={`idea appear${chosen ? " chosen" : ""}`}>
      <summary>
        <span className="row">
          <span className="num quiet">{idea.score === null ? idea.id : `${rank}.`}</span>
          <strong className="grow">{idea.title}</strong>
          {chosen && (
            <span className="chip accent">
              <Icon name="completed" />
              chosen
            </span>
          )}
          {idea.score !== null && (
            <span className={`num ${idea.score < min ? "warn" : ""}`}>{idea.score.toFixed(2)}</span>
          )}
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
        {idea.pros.map((one) => (
          <p key={one}>+ {one}</p>
        ))}
        {idea.cons.map((one) => (
          <p key={one}>− {one}</p>
        ))}
      </div>
    </details>
  );
}
