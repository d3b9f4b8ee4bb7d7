import { useEffect } from "react";

/** Bind keys of a page. They are ignored in fields and while a dialog is open. */
export function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    let before = "";
    const press = (event: KeyboardEvent): void => {
      const at = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || document.querySelector("dialog[open]")) return;
      const action = keys[`${before} ${event.key}`] ?? keys[event.key];
      before = event.key === "g" ? "g" : "";
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}
