import { useEffect, useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const KEPT = "podium.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

function chosen(): Theme {
  const stored = localStorage.getItem(KEPT);
  return stored === "light" || stored === "dark" ? stored : "system";
}

const shownAs = (theme: Theme): "light" | "dark" => (theme === "system" ? (dark.matches ? "dark" : "light") : theme);

function paint(): void {
  document.documentElement.dataset.theme = shownAs(chosen());
  watchers.forEach((watcher) => watcher());
}

export function choose(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, theme);
  paint();
}

/** Return the chosen theme and the one that is shown. */
export function useTheme(): [Theme, "light" | "dark"] {
  const theme = useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, chosen);
  useEffect(() => {
    paint();
    dark.addEventListener("change", paint);
    return () => dark.removeEventListener("change", paint);
  }, []);
  return [theme, shownAs(theme)];
}
