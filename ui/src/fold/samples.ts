import type { LogEvent } from "./events";

/** A log for tests: `[path, type, data]`, numbered, a second apart. */
export function log(...entries: [path: string, type: string, data?: Record<string, unknown>][]): LogEvent[] {
  return entries.map(([path, type, data = {}], index) => ({
    seq: index + 1,
    run_id: "r",
    time: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
    path,
    type,
    data,
  }));
}

export const created = (
  workflow = "own",
  more: Record<string, unknown> = {},
): [string, string, Record<string, unknown>] => ["", "run.created", { workflow, request: "Do it", ...more }];
export const spent = (usd: number, calls = 1): Record<string, unknown> => ({
  attempt: 1,
  model: "m",
  ok: true,
  charge: { usd, input_tokens: 10, output_tokens: 5, calls },
});
