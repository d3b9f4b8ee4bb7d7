import type { CouncilFold, Idea } from "../fold/council";
import { Icon } from "../parts/icons";
import { oneLine } from "../parts/words";
import { AsTable } from "./table";

const named = (role: string): string => role.replaceAll("_", " ");

/** Rounds as columns and speakers as rows; ideas beside them, ranked as soon as they are scored. */
export function CouncilGraph({ fold }: { fold: CouncilFold }) {
  const rounds = fold.rounds();
  const speakers = [...new Set([...fold.team, ...fold.said.map((one) => one.from)])];
  return (
    <>
      <div className="council">
        <div className="scroll" tabIndex={0} role="group" aria-label="Rounds">
          <table className="rounds">
            <thead>
              <tr>
                <th scope="col">Who</th>
                {rounds.map((round) => (
                  <th scope="col" key={round}>
                    {title(fold, round)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {speakers.map((who) => (
                <tr key={who}>
                  <th scope="row">{named(who)}</th>
                  {rounds.map((round) => (
                    <td key={round}>
                      {fold.said
                        .filter((one) => one.from === who && one.round === round)
                        .map((one) => (
                          <details key={one.id} className="said appear">
                            <summary>
                              <span className="chip">{one.kind}</span> {oneLine(one.content, 90)}
                            </summary>
                            <p className="prose small">{one.content}</p>
                          </details>
                        ))}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <section aria-label="Ideas" className="stack ideas">
          <h3>Ideas, best first</h3>
          {fold.ideas.size === 0 && <p className="quiet">None yet.</p>}
          {fold.ranked().map((idea, index) => (
            <IdeaCard
              key={idea.id}
              idea={idea}
              rank={index + 1}
              min={fold.minScore}
              chosen={fold.selected?.id === idea.id}
            />
          ))}
        </section>
      </div>
      <AsTable
        columns={["Rank", "Idea", "Score", "Round", "Category"]}
        pick={() => undefined}
        rows={() =>
          fold.ranked().map((idea, index) => ({
            path: "",
            cells: [
              String(index + 1),
              `${idea.id} ${idea.title}`,
              idea.score?.toFixed(1) ?? "not scored",
              String(idea.round),
              idea.category,
            ],
          }))
        }
      />
    </>
  );
}

function title(fold: CouncilFold, round: number): string {
  const phases = [...new Set(fold.phases.filter((one) => one.round === round).map((one) => one.phase))];
  if (round === 0) return "Kickoff";
  return phases.includes("exploration") ? `Round ${round}` : phases.join(", ") || `Round ${round}`;
}

function IdeaCard({ idea, rank, min, chosen }: { idea: Idea; rank: number; min: number; chosen: boolean }) {
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
            <span className={`num ${idea.score < min ? "warn" : ""}`}>{idea.score.toFixed(1)}</span>
          )}
        </span>
      </summary>
      <div className="stack small">
        <p className="prose">{idea.description}</p>
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
