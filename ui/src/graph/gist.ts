import { number } from "../fold/events";
import { many } from "../parts/words";

const COUNTED: Record<string, (value: number) => string> = {
  found: (value) => `${shown(value)} found`,
  read: (value) => `${shown(value)} read in full`,
  snippets: (value) => `${shown(value)} only by their snippet`,
  summaries: (value) => `${shown(value)} summarised`,
  word_count: (value) => `${shown(value)} words`,
  points: (value) => many(value, "point"),
  sections: (value) => many(value, "section"),
  insights: (value) => many(value, "insight"),
};
const SHARES: Record<string, string> = { grammar: "grammar", quality: "accuracy", score: "score", share: "copied" };
const shown = (value: number): string => value.toLocaleString("en-US");

/** What a worker gave, in the same words as at the terminal; a key that nobody knows is not told. */
export function gistOf(result: Record<string, unknown>): string[] {
  const told = Object.entries(COUNTED).flatMap(([key, words]) => {
    const value = result[key];
    return typeof value === "number" ? [words(value)] : [];
  });
  if (Array.isArray(result.cites)) told.push(`cites ${many(result.cites.length, "source")}`);
  if (typeof result.claims === "number")
    told.push(`${number(result.verified)} of ${many(result.claims, "claim")} verified`);
  for (const [key, word] of Object.entries(SHARES)) {
    const value = result[key];
    if (typeof value === "number") told.push(`${word} ${Math.round(value * 100)} %`);
  }
  return told;
}
