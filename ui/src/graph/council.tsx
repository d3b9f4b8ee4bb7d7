import type { Contribution, CouncilFold } from "../fold/council";
import { gist, titled } from "../parts/words";
import { IdeaCard } from "./idea";
import { AsTable } from "./table";

/** Rounds as columns and speakers as rows; ideas beside them, ranked as soon as they are scored. */
export function CouncilGraph({ fold, pick }: { fold: CouncilFold; pick: (path: string) => void }) {
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
                  <th scope="row">{titled(who)}</th>
                  {rounds.map((round) => (
                    <td key={round}>
                      {fold.said
                        .filter((one) => one.from === who && one.round === round)
                        .map((one) => (
                          <Said key={one.id} one={one} pick={pick} />
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
              idea.score?.toFixed(2) ?? "not scored",
              String(idea.round),
              idea.category,
            ],
          }))
        }
      />
    </>
  );
}

function Said({ one, pick }: { one: Contribution; pick: (path: string) => void }) {
  return (
    <details className="said appear">
      <summary>
        <span className="chip">{one.kind}</span> {gist(one.content)}
      </summary>
      <p className="prose small">{one.content}</p>
      {one.path && (
        <button className="link small" onClick={() => pick(one.path)}>
          How it came about
        </button>
      )}
    </details>
  );
}

function title(fold: CouncilFold, round: number): string {
  const phases = [...new Set(fold.phases.filter((one) => one.round === round).map((one) => one.phase))];
  if (round === 0) return "Kickoff";
  return phases.includes("exploration") ? `Round ${round}` : titled(phases.join(", ")) || `Round ${round}`;
}
