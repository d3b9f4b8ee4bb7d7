import type { Usage } from "../api/client";
import { count, money, span } from "./words";

/** Dimensions of a budget that users can limit, in the order in which they are shown. */
export const DIMENSIONS = [
  {
    name: "usd",
    title: "Dollars",
    label: "Most dollars",
    example: "1.00",
    show: money,
    of: (used: Usage) => used.cost_usd,
  },
  { name: "calls", title: "Calls", label: "Most calls", example: "50", show: count, of: (used: Usage) => used.calls },
  {
    name: "tokens",
    title: "Tokens",
    label: "Most tokens",
    example: "200000",
    show: count,
    of: (used: Usage) => used.input_tokens + used.output_tokens,
  },
  { name: "seconds", title: "Time", label: "Most seconds", example: "600", show: span, of: null },
] as const;
