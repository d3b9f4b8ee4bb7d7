import { useTitle } from "../../live/list";
import { Card } from "../../parts/parts";
import { choose, THEMES, useTheme } from "../../parts/theme";
import { Keys, Server } from "./server";
import { You } from "./you";

/** Theme, the signed-in user and the configuration of the server. Secrets are never shown. */
export function SettingsPage() {
  useTitle("Settings");
  return (
    <>
      <div className="top">
        <h1>Settings</h1>
      </div>
      <div className="split even">
        <div className="stack">
          <Look />
          <You />
          <Help />
        </div>
        <div className="stack">
          <Server />
          <Keys />
        </div>
      </div>
    </>
  );
}

const NAMES = { system: "As the system", light: "Light", dark: "Dark" } as const;

function Look() {
  const [theme] = useTheme();
  return (
    <Card title="Look">
      <fieldset className="row wrap">
        <legend className="only-read">Theme</legend>
        {THEMES.map((name) => (
          <label key={name} className="tick">
            <input type="radio" name="theme" checked={theme === name} onChange={() => choose(name)} />
            {NAMES[name]}
          </label>
        ))}
      </fieldset>
      <p className="quiet small">Kept in this browser. Motion follows the setting of your system.</p>
    </Card>
  );
}

const PAGES = [
  {
    to: "/api/openapi.json",
    name: "Description of the interface",
    text: "OpenAPI, for programs that talk to this server",
  },
  { to: "/api/metrics", name: "Figures", text: "for Prometheus" },
] as const;
const COMMANDS = [
  ["podium --help", "all commands"],
  ["podium run WORKFLOW --help", "the options of a workflow"],
  ["podium doctor", "checks everything that Podium needs"],
] as const;

/** No page of another site is linked to: this one works without a network. */
function Help() {
  return (
    <Card title="To read on">
      <ul className="list">
        {PAGES.map((page) => (
          <li key={page.to}>
            <a className="under" href={page.to} target="_blank" rel="noreferrer">
              {page.name}
            </a>{" "}
            <span className="quiet">{page.text}</span>
          </li>
        ))}
        {COMMANDS.map(([command, text]) => (
          <li key={command}>
            <code>{command}</code> <span className="quiet">{text}</span>
          </li>
        ))}
        <li className="quiet">The guides lie in the folder docs/ of Podium; press ? for the keys of these pages.</li>
      </ul>
    </Card>
  );
}
