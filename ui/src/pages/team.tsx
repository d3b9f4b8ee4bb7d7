import { api, type Learnt, type Member, type Team } from "../api/client";
import { useTitle } from "../live/list";
import { useLoaded } from "../live/load";
import { Bones, Card, ProblemNote } from "../parts/parts";
import { points } from "../parts/words";
import { go, usePlace, withQuery } from "../route";

/** Members of a studio team, with their scores so far. */
export function TeamPage() {
  const place = usePlace();
  const teams = useLoaded("teams", (signal) => api.teams(signal));
  const name = place.query.get("team") ?? teams.value?.teams[0] ?? "";
  const rehearsals = place.query.get("count") === "rehearsals";
  const team = useLoaded(`team ${name}`, async (signal) => (name ? api.team(name, signal) : null));
  const stats = useLoaded(`stats ${name} ${rehearsals}`, async (signal) =>
    name ? api.teamStats(name, rehearsals, signal) : null,
  );
  useTitle("Team");
  const problem = teams.problem ?? team.problem ?? stats.problem;
  return (
    <>
      <div className="top">
        <h1 className="grow">Team</h1>
        <label className="row">
          Team{" "}
          <select
            value={name}
            style={{ width: "auto" }}
            onChange={(event) => go(withQuery(place, { team: event.target.value }), true)}
          >
            {teams.value?.teams.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        </label>
        <label className="row">
          <input
            type="checkbox"
            checked={rehearsals}
            onChange={(event) => go(withQuery(place, { count: event.target.checked ? "rehearsals" : "" }), true)}
          />
          Count rehearsals
        </label>
      </div>
      {problem && <ProblemNote problem={problem} />}
      {!team.value && !problem && (
        <div className="card">
          <Bones />
        </div>
      )}
      {team.value && <Departments team={team.value} learnt={stats.value?.agents ?? []} />}
    </>
  );
}

const LEAST = 60; // where neither the specialist nor the department says anything

function Departments({ team, learnt }: { team: Team; learnt: readonly Learnt[] }) {
  return (
    <div className="stack">
      <p className="quiet">{team.description}</p>
      {Object.entries(team.departments).map(([id, department]) => (
        <Card
          key={id}
          title={department.name}
          flush
          aside={
            <span className="quiet small">
              {department.depends_on.length > 0 && `after ${department.depends_on.join(", ")}`}
            </span>
          }
        >
          <div className="scroll" tabIndex={0} role="group" aria-label={department.name}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Who</th>
                  <th scope="col">Skills</th>
                  <th scope="col" className="right">
                    Results
                  </th>
                  <th scope="col" className="right">
                    Mean
                  </th>
                  <th scope="col" className="right">
                    Accepted
                  </th>
                  <th scope="col" className="right">
                    Threshold
                  </th>
                </tr>
              </thead>
              <tbody>
                <Row who={department.head} />
                {Object.entries(department.specialists).map(([who, member]) => (
                  <Row
                    key={who}
                    who={member}
                    learnt={learnt.find((each) => each.agent === `${id}-${who}-specialist`)}
                    least={member.passing_threshold ?? department.min_quality_threshold ?? LEAST}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </Card>
      ))}
    </div>
  );
}

/** `least` is the grade that is needed; a head is not graded and has none. */
function Row({ who, learnt, least }: { who: Member; learnt?: Learnt | undefined; least?: number }) {
  return (
    <tr>
      <td className="wide">
        <details className="bare">
          <summary>{who.name}</summary>
          <p className="prose small quiet">{who.instructions}</p>
        </details>
      </td>
      <td className="small wide">{who.skills.join(", ")}</td>
      <td className="right num">{learnt?.results ?? ""}</td>
      <td className="right num">{learnt && learnt.results > 0 ? points(learnt.mean) : ""}</td>
      <td className="right num">{learnt && learnt.results > 0 ? `${Math.round(learnt.acceptance * 100)} %` : ""}</td>
      <td className="right num">
        {learnt ? points(learnt.threshold) : (least ?? "")}
        {learnt?.suggested != null && <span className="accent"> → {points(learnt.suggested)}</span>}
      </td>
    </tr>
  );
}
