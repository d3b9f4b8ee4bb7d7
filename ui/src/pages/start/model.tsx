import { api, type Models } from "../../api/client";
import { useLoaded } from "../../live/load";

/** Models that can be named right away: those of the profiles, and of providers whose key is there. */
function known(models: Models | null): string[] {
  const profiles = Object.values(models?.profiles ?? {}).flatMap((profile) =>
    profile.models.map((entry) => entry.model),
  );
  const usable = (models?.providers ?? []).filter((provider) => provider.usable);
  return [...new Set(["rehearsal", ...profiles, ...usable.flatMap((provider) => Object.values(provider.profiles))])];
}

export function ModelField({ value, change }: { value: string; change: (model: string) => void }) {
  const models = useLoaded("models", (signal) => api.models(signal)).value;
  return (
    <div className="field">
      <label htmlFor="model">Model</label>
      <input
        id="model"
        list="models"
        value={value}
        placeholder={models?.model ?? "as the settings say"}
        aria-describedby="model-help"
        onChange={(event) => change(event.target.value)}
      />
      <span id="model-help" className="quiet small">
        “rehearsal” works offline and costs nothing.
      </span>
      <datalist id="models">
        {known(models).map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
    </div>
  );
}
