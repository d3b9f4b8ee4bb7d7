import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from "react";

/** The address is the state: everything that can be linked to is in it. */

const watchers = new Set<() => void>();
const tell = (): void => watchers.forEach((watcher) => watcher());
addEventListener("popstate", tell);

export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  if (!replace) scrollTo(0, 0);
  tell();
}

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

let last = "";
let place: Place = { path: "/", query: new URLSearchParams(), hash: "" };
function current(): Place {
  if (last !== location.href) {
    last = location.href;
    place = { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
  }
  return place;
}

export function usePlace(): Place {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, current);
}

/** The address with some of its query changed; an empty value leaves the name out. */
export function withQuery(at: Place, change: Record<string, string>): string {
  const query = new URLSearchParams(at.query);
  for (const [name, value] of Object.entries(change)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return at.path + (text ? `?${text}` : "");
}

export function Link({ to, ...rest }: { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    rest.onClick?.(event);
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}
