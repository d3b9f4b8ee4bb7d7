/** Numbers, times and texts as all pages show them. */

export function money(usd: number): string {
  if (usd === 0) return "$0.00";
  if (usd < 0.1) return usd < 0.0001 ? "<$0.0001" : `$${usd.toFixed(4)}`;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en-US");
  return value < 1_000_000
    ? `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`
    : `${(value / 1_000_000).toFixed(1)}M`;
}

export function span(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, "0")} min`;
  const rest = minutes % 60 ? ` ${String(minutes % 60).padStart(2, "0")} min` : "";
  return `${Math.floor(minutes / 60)} h${rest}`;
}

/** Return a score with the digits that it has, as the terminal and the report show it. */
export const points = (value: number): string => String(Math.round(value * 100) / 100);

/** Return a model's name for a list: of a Python file without its folder. */
export const modelName = (model: string): string => model.replace(/^python:.*\/(?=[^/]*:[^/]*$)/, "python:");

export function ago(then: number, now: number): string {
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return seconds < 30 * 86_400 ? `${Math.floor(seconds / 86_400)} d ago` : new Date(then).toISOString().slice(0, 10);
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export const clock = (time: string): string => new Date(time).toLocaleTimeString("en-GB");

export function many(value: number, singular: string, plural = `${singular}s`): string {
  return `${value.toLocaleString("en-US")} ${value === 1 ? singular : plural}`;
}

export function oneLine(text: string, most = 160): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** Return an identifier as a title. */
export function titled(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a value as text to read. */
export function readable(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
