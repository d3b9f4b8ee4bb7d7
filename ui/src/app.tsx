import { lazy, Suspense, useEffect, useState } from "react";
import { useWaitingCount } from "./live/list";
import { Icon } from "./parts/icons";
import { useKeys } from "./parts/keys";
import { Bones, Dialog, Empty } from "./parts/parts";
import { choose, useTheme } from "./parts/theme";
import { BrainPage } from "./pages/brain/brain";
import { ComparePage } from "./pages/compare/compare";
import { ModelsPage } from "./pages/models";
import { RunsPage } from "./pages/runs/runs";
import { SettingsPage } from "./pages/settings/settings";
import { StartPage } from "./pages/start/start";
import { TeamPage } from "./pages/team";
import { go, Link, usePlace, type Place } from "./route";

const RunPage = lazy(() => import("./pages/run/run"));

const ITEMS = [
  { to: "/", name: "Runs", icon: "runs" },
  { to: "/compare", name: "Compare", icon: "compare" },
  { to: "/team", name: "Team", icon: "team" },
  { to: "/brain", name: "Brain", icon: "brain" },
  { to: "/models", name: "Models", icon: "models" },
  { to: "/settings", name: "Settings", icon: "settings" },
];

const KEYS: [string, string][] = [
  ["/", "Search"],
  ["g r", "Runs"],
  ["n", "New run"],
  ["j  k", "Next, previous"],
  ["Enter", "Open"],
  ["e", "Next error, in a transcript"],
  ["?", "This list"],
];

export function App() {
  const place = usePlace();
  const [help, setHelp] = useState(false);
  useKeys({ "g r": () => go("/"), n: () => go("/new"), "?": () => setHelp(true) });
  useEffect(() => document.querySelector("main")?.focus({ preventScroll: true }), [place.path]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Side path={place.path} help={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<Bones rows={10} />}>
          <Page place={place} />
        </Suspense>
      </main>
      {help && (
        <Dialog title="Keyboard" close={() => setHelp(false)}>
          <table>
            <tbody>
              {KEYS.map(([key, does]) => (
                <tr key={key}>
                  <td>
                    <kbd>{key}</kbd>
                  </td>
                  <td>{does}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Dialog>
      )}
    </div>
  );
}

function Page({ place }: { place: Place }) {
  const [, first = "", id = ""] = place.path.split("/");
  switch (first) {
    case "":
      return <RunsPage />;
    case "runs":
      return id ? <RunPage id={id} key={id} /> : <RunsPage />;
    case "new":
      return <StartPage />;
    case "compare":
      return <ComparePage />;
    case "team":
      return <TeamPage />;
    case "brain":
      return <BrainPage />;
    case "settings":
      return <SettingsPage />;
    case "models":
      return <ModelsPage />;
    default:
      return (
        <Empty title="There is no such page.">
          <Link to="/">All runs</Link>
        </Empty>
      );
  }
}

function Side({ path, help }: { path: string; help: () => void }) {
  const waiting = useWaitingCount();
  const [, look] = useTheme();
  return (
    <nav className="side" aria-label="Main">
      <Link to="/" className="brand">
        <img src="/icon.svg" alt="" />
        Podium
      </Link>
      <Link to="/new" className="button primary start item" aria-current={path === "/new" ? "page" : undefined}>
        <Icon name="plus" />
        <span>
          New<span className="word-long"> run</span>
        </span>
      </Link>
      {ITEMS.map((item) => (
        <Link
          key={item.to}
          to={item.to}
          className="item"
          aria-current={path === item.to || (item.to === "/" && path.startsWith("/runs")) ? "page" : undefined}
        >
          <Icon name={item.icon} />
          {item.name}
          {item.to === "/" && waiting > 0 && (
            <span className="chip warn" title={`${waiting} waiting for you`}>
              {waiting}
              <span className="only-read"> waiting for you</span>
            </span>
          )}
        </Link>
      ))}
      <span className="grow" />
      <button className="item hide-small" onClick={() => choose(look === "dark" ? "light" : "dark")}>
        <Icon name="theme" />
        {look === "dark" ? "Light" : "Dark"}
      </button>
      <button className="item hide-small" onClick={help}>
        <Icon name="help" />
        Keys
      </button>
    </nav>
  );
}
