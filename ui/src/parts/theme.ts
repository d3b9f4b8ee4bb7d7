import { useEffect, useState } from "react";

type Theme = "light" | "dark";
const KEPT = "podium.theme";

function first(): Theme {
  const kept = localStorage.getItem(KEPT);
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** As the system has it, until somebody chooses. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(first);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const turn = (): void => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem(KEPT, next);
    setTheme(next);
  };
  return [theme, turn];
}
