/** What a run's log holds, as the server sends it. Everything inside `data` may have been written by a model. */

export interface LogEvent {
  readonly seq: number;
  readonly run_id: string;
  readonly time: string;
  readonly path: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An amount of everything that a budget can limit. */
export interface Charge {
  usd: number;
  input: number;
  output: number;
  calls: number;
  unpriced: number;
  /** Calls among them whose outcome is unknown, because the process died. */
  unknown: number;
}

export const nothing = (): Charge => ({ usd: 0, input: 0, output: 0, calls: 0, unpriced: 0, unknown: 0 });

export function add(total: Charge, more: Charge): void {
  total.usd += more.usd;
  total.input += more.input;
  total.output += more.output;
  total.calls += more.calls;
  total.unpriced += more.unpriced;
  total.unknown += more.unknown;
}

export function chargeIn(value: unknown): Charge {
  const found = record(value);
  return {
    usd: number(found.usd),
    input: number(found.input_tokens),
    output: number(found.output_tokens),
    calls: number(found.calls),
    unpriced: number(found.unpriced_calls),
    unknown: number(found.unknown_calls),
  };
}

// Readers that never fail: a log may be newer or older than this page.

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : otherwise;
}

export function texts(value: unknown): string[] {
  return list(value).map((one) => text(one));
}

export function number(value: unknown, otherwise = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

export function maybe(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
