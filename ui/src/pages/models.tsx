import { api } from "../api/client";
import { useTitle } from "../live/list";
import { useLoaded } from "../live/load";
import { Icon } from "../parts/icons";
import { Bones, Card, ProblemNote } from "../parts/parts";
import { count } from "../parts/words";

const price = (usd: number | null): string => (usd === null ? "" : `$${usd.toFixed(2)}`);

/** Which models can be used from here, and what the others would need. */
export function ModelsPage() {
  const { value, problem, again } = useLoaded("models", (signal) => api.models(signal));
  useTitle("Models");
  return (
    <>
      <div className="top">
        <h1>Models</h1>
      </div>
      {problem && <ProblemNote problem={problem} again={again} />}
      {!value && !problem && (
        <div className="card">
          <Bones />
        </div>
      )}
      {value && (
        <div className="stack">
          <p>
            {value.model ? (
              <>
                Every agent uses <code>{value.model}</code> unless a run says otherwise.
              </>
            ) : (
              "Agents use the profile that they ask for."
            )}
          </p>
          <Card title="Profiles" flush>
            <div className="scroll" tabIndex={0} role="group" aria-label="Profiles">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Profile</th>
                    <th scope="col">Model</th>
                    <th scope="col" className="right">
                      In, per million
                    </th>
                    <th scope="col" className="right">
                      Out, per million
                    </th>
                    <th scope="col" className="right">
                      Window
                    </th>
                    <th scope="col">From</th>
                  </tr>
                </thead>
                <tbody>
                  {Object.entries(value.profiles).flatMap(([name, profile]) =>
                    profile.models.map((model) => (
                      <tr key={`${name}-${model.model}`}>
                        <td>{name}</td>
                        <td className="mono">{model.model}</td>
                        <td className="right num">{price(model.input_usd_per_million) || model.price}</td>
                        <td className="right num">{price(model.output_usd_per_million) || model.price}</td>
                        <td className="right num">
                          {model.context_window === null ? "" : count(model.context_window)}
                        </td>
                        <td className="quiet">{profile.source}</td>
                      </tr>
                    )),
                  )}
                </tbody>
              </table>
            </div>
          </Card>
          <Card title="Providers" flush>
            <div className="scroll" tabIndex={0} role="group" aria-label="Providers">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Provider</th>
                    <th scope="col">Usable</th>
                    <th scope="col">What it needs</th>
                  </tr>
                </thead>
                <tbody>
                  {value.providers.map((provider) => (
                    <tr key={provider.provider}>
                      <td>{provider.provider}</td>
                      <td>
                        {provider.usable ? (
                          <span className="status completed">
                            <Icon name="completed" />
                            usable
                          </span>
                        ) : (
                          <span className="quiet">not yet</span>
                        )}
                      </td>
                      <td className="quiet">
                        {provider.missing ?? provider.note ?? (provider.key ? `key from ${provider.key}` : "")}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Card>
        </div>
      )}
    </>
  );
}
