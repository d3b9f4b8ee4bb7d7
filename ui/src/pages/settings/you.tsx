import { useState } from "react";
import { api, problemOf, type Me, type Problem } from "../../api/client";
import { useLoaded } from "../../live/load";
import { Bones, Card, Meter, ProblemNote } from "../../parts/parts";
import { money } from "../../parts/words";

/** The signed-in user and their limits. */
export function You() {
  const { value, problem, again } = useLoaded("me", (signal) => api.me(signal));
  return (
    <Card title="You">
      {problem && <ProblemNote problem={problem} again={again} />}
      {!value && !problem && <Bones rows={3} />}
      {value && <About me={value} />}
    </Card>
  );
}

function About({ me }: { me: Me }) {
  return (
    <div className="stack">
      <dl className="pairs">
        <dt>Name</dt>
        <dd>{me.local ? "The only user of this server; you may do everything" : me.name}</dd>
        <dt>Runs at once</dt>
        <dd>
          {me.running} under way, {me.queued} in the queue, at most {me.max_runs}
        </dd>
        <dt>Spent</dt>
        <dd className="num">
          {money(me.spent_usd)}
          {me.budget_usd !== null && ` of ${money(me.budget_usd)}`}
        </dd>
        {me.reserved_usd > 0 && (
          <>
            <dt>Kept back</dt>
            <dd>{money(me.reserved_usd)} for runs that are not over</dd>
          </>
        )}
      </dl>
      {me.budget_usd !== null && (
        <Meter spent={me.spent_usd} reserved={me.reserved_usd} ceiling={me.budget_usd} label="Spent of your budget" />
      )}
      {!me.local && <SignOut />}
    </div>
  );
}

function SignOut() {
  const [problem, setProblem] = useState<Problem | null>(null);
  const leave = (): void => {
    api.signOut().then(
      () => location.assign("/"),
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <>
      <div>
        <button onClick={leave}>Sign out</button>
      </div>
      {problem && <ProblemNote problem={problem} />}
    </>
  );
}
