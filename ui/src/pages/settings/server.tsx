import { api, type Checks, type Models } from "../../api/client";
import { useLoaded } from "../../live/load";
import { Icon } from "../../parts/icons";
import { Bones, Card, ProblemNote } from "../../parts/parts";
import { span } from "../../parts/words";
import { Link } from "../../route";

const MARKS = { ok: "completed", warn: "partial", fail: "failed" } as const;

/** Configuration of the server, with the checks of `podium doctor`. */
export function Server() {
  const health = useLoaded("health", (signal) => api.health(signal));
  const ready = useLoaded("ready", (signal) => api.ready(signal));
  const checks = useLoaded("checks", (signal) => api.checks(signal));
  const problem = health.problem ?? ready.problem ?? checks.problem;
  return (
    <Card
      title="This server"
      aside={
        health.value &&
        health.value.uptime_s !== null && (
          <span className="quiet small">
            Podium {health.value.version} · up for {span(health.value.uptime_s)}
          </span>
        )
      }
    >
      {problem && <ProblemNote problem={problem} again={checks.again} />}
      {!checks.value && !problem && <Bones rows={8} />}
      <div className="stack">
        {ready.value && ready.value.running !== null && (
          <p>
            {ready.value.running} runs under way, {ready.value.queued} in the queue; at most {ready.value.max_runs} at
            once.
          </p>
        )}
        {checks.value && <Found checks={checks.value} />}
      </div>
    </Card>
  );
}

function Found({ checks }: { checks: Checks }) {
  if (checks.checks.length === 0)
    return (
      <p>{checks.ok ? "All checks pass." : "A check failed. The administrator of this server sees the details."}</p>
    );
  return (
    <ul className="list">
      {checks.checks.map((check) => (
        <li key={check.name} className="row">
          <span className={`status ${MARKS[check.state]}`}>
            <Icon name={MARKS[check.state]} label={check.state} />
          </span>
          <strong className="check-name">{check.name}</strong>
          <span className="grow wrap-any">
            {check.told}
            {check.fix && <span className="block warn small">{check.fix}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Which keys are set; never a key itself. */
export function Keys() {
  const { value, problem, again } = useLoaded("models", (signal) => api.models(signal));
  return (
    <Card title="Models and keys" flush aside={<Link to="/models">All about models</Link>}>
      {problem && <ProblemNote problem={problem} again={again} />}
      {!value && !problem && <Bones rows={6} />}
      {value && <Providers models={value} />}
    </Card>
  );
}

function Providers({ models }: { models: Models }) {
  return (
    <>
      <p className="padded">
        {models.model ? (
          <>
            Every agent uses <code>{models.model}</code> unless a run says otherwise.
          </>
        ) : (
          "Agents use the profile that they ask for."
        )}
      </p>
      <table>
        <tbody>
          {models.providers.map((provider) => (
            <tr key={provider.provider}>
              <th scope="row">{provider.provider}</th>
              <td>
                {provider.usable ? (
                  <span className="status completed">
                    <Icon name="completed" />
                    {provider.key ? `key in ${provider.key}` : "no key needed"}
                  </span>
                ) : (
                  <span className="quiet">{provider.missing ?? "not installed"}</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
