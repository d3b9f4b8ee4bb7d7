import type { CouncilView, Idea } from "../api/client";
import { Empty } from "../parts/parts";
import { IdeaCard } from "./idea";
import { numbered, ordered } from "./order";
import { AsTable } from "./table";

type Pick = (path: string) => void;
type Contribution = CouncilView["contributions"][string];

/** Rounds as columns and speakers as rows; ideas beside them, ranked as soon as they are scored. */
export function CouncilGraph({ view, pick }: { view: CouncilView; pick: Pick }) {
  const rounds = numbered(view.rounds);
  const contributions = ordered(view.contributions);
  const ideas = rankedIdeas(view);
  if (rounds.length === 0 && ideas.length === 0) return <Empty title="No round has begun yet." />;
  return (
    <>
      <div className="council">
        <div className="scroll" tabIndex={0} role="group" aria-label="Rounds">
          <table className="rounds">
            <thead>
              <tr>
                <th scope="col">Who</th>
                {rounds.map(([round, { title }]) => (
                  <th scope="col" key={round}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {ordered(view.speakers).map((speaker) => (
                <tr key={speaker.id}>
                  <th scope="row">{speaker.name}</th>
                  {rounds.map(([round]) => (
                    <td key={round}>
                      {contributions
                        .filter((entry) => entry.speaker === speaker.id && entry.round === round)
                        .map((entry) => (
                          <ContributionNote key={entry.id} contribution={entry} pick={pick} />
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
          {ideas.length === 0 && <p className="quiet">None yet.</p>}
          {ideas.map(([id, idea]) => (
            <IdeaCard key={id} id={id} idea={idea} />
          ))}
          {view.selected && (
            <p className="small prose">
              <strong>{view.selected.title}</strong>: {view.selected.reasoning}
            </p>
          )}
        </section>
      </div>
      <AsTable
        columns={["Rank", "Idea", "Score", "Round", "Category"]}
        pick={() => undefined}
        rows={() =>
          ideas.map(([id, idea]) => ({
            path: "",
            cells: [String(idea.rank), `${id} ${idea.title}`, idea.score_text, String(idea.round), idea.category],
          }))
        }
      />
    </>
  );
}

const rankedIdeas = (view: CouncilView): [string, Idea][] =>
  Object.entries(view.ideas).sort(([, a], [, b]) => a.rank - b.rank);

function ContributionNote({ contribution, pick }: { contribution: Contribution; pick: Pick }) {
  const { kind, gist, content, path } = contribution;
  return (
    <details className="said appear">
      <summary>
        <span className="chip">{kind}</span> {gist}
      </summary>
      <p className="prose small">{content}</p>
      {path && (
        <button className="link small" onClick={() => pick(path)}>
          Show the step
        </button>
      )}
    </details>
  );
}
