import { maybe, number, record, text, texts, type LogEvent } from "./events";

/** One line for a person about one event; and how much it matters. */
export interface Told {
  line: string;
  weight: "routine" | "result" | "bad" | "person";
}

const score = (value: unknown): string => {
  const found = maybe(value);
  return found === null ? "not graded" : found.toFixed(found % 1 ? 1 : 0);
};
const flat = (value: unknown, most = 140): string => {
  const line = (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value))
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

/** A pause is an order, not trouble; who gave it is told once. */
export const pausedBy = (reason: string): string => {
  const why = flat(reason.replace(/^paused\b[:,]?\s*/i, ""));
  return !why ? "Paused" : why.startsWith("by ") ? `Paused ${why}` : `Paused: ${why}`;
};

type Data = LogEvent["data"];
const RESULTS: Record<string, (data: Data) => string> = {
  "run.created": (data) => `Accepted: ${flat(data.request)}`,
  "run.started": () => "Started",
  "run.resumed": (data) => `Resumed after ${text(data.after, "a pause")}`,
  "run.paused": (data) => pausedBy(text(data.reason)),
  "run.answered": (data) => `Answered: ${flat(data.answer)}`,
  "run.completed": () => "Completed",
  "run.forked": (data) => `Forked from ${text(data.source)} at ${text(data.at)}`,
  "artifact.created": (data) => `Made ${text(data.name)}`,
  "tree.node_created": (data) => `New task: ${flat(data.title)}`,
  "tree.plan_created": (data) => `Planned: ${flat(data.summary)}`,
  "tree.node_aggregated": (data) => `Put together: ${flat(data.summary)}`,
  "tree.node_completed": (data) => `Done (${text(data.outcome)})`,
  "tree.replan_requested": (data) => `Plans anew: ${flat(data.reason)}`,
  "studio.routed": (data) => `Routed to ${[text(data.primary), ...texts(data.supporting)].join(", ")}`,
  "studio.department_started": (data) => `${text(data.name)} starts`,
  "studio.department_completed": (data) => `${text(data.name)} done, score ${score(data.score)}`,
  "studio.specialist_graded": (data) =>
    `${text(data.specialist)} graded ${score(data.score)} of ${score(data.threshold)}: ${text(data.decision)}`,
  "studio.conflict_found": (data) => `Conflict: ${flat(data.description)}`,
  "studio.conflict_resolved": (data) => `Conflict resolved by ${text(data.by)}`,
  "council.phase": (data) => `${text(data.phase)}${number(data.round) ? `, round ${number(data.round)}` : ""}`,
  "council.message": (data) => `${text(data.from)}: ${flat(data.content)}`,
  "council.idea_added": (data) => `Idea ${text(data.id)}: ${flat(data.title)}`,
  "council.idea_revised": (data) => `Idea ${text(data.id)}, version ${number(data.version)}: ${flat(data.title)}`,
  "council.idea_scored": (data) => `${text(data.id)} scored ${number(data.score).toFixed(2)}`,
  "council.selected": (data) => `Chosen: ${flat(data.title)}`,
  "research.phase": (data) => `${text(data.from) || "start"} → ${text(data.to)}`,
  "research.worker_completed": (data) => `${text(data.worker)} done`,
  "research.evaluated": (data) => `Quality ${score(data.quality)} of ${score(data.threshold)}: ${text(data.decision)}`,
  "build.phase": (data) => `${text(data.status)}`,
  "build.step_status": (data) => `Step ${text(data.step_id)}: ${text(data.status)}`,
  "floor.drafted": (data) => `Direct draft: ${texts(data.points).length} points to cover`,
  "floor.edited": (data) =>
    texts(data.sent_back).length
      ? `Editor: sent back with ${texts(data.sent_back).length} remarks`
      : `Editor: ${number(data.parts)} parts of the request checked, ${texts(data.missing).length} still missing`,
  "floor.compared": (data) => `Blind comparison: ${VERDICTS[text(data.preferred)] ?? text(data.preferred)}`,
  "floor.baseline": (data) =>
    `Baseline, the best of ${number(data.n)} direct drafts: ${BASELINE[text(data.preferred)] ?? "not compared"}`,
  "build.committed": (data) => `Committed ${text(data.sha).slice(0, 8)}: ${flat(data.message)}`,
};

const VERDICTS: Record<string, string> = {
  team: "the team's text is better than the direct draft",
  draft: "the direct draft is better",
  equal: "neither text is clearly better",
};

const BASELINE: Record<string, string> = {
  result: "the result is better",
  baseline: "the baseline is better",
  equal: "neither text is clearly better",
};

const BAD: Record<string, (data: Data) => string> = {
  "run.failed": (data) => `Failed: ${flat(data.error)}`,
  "run.partial": (data) => `Stopped early: ${text(data.stop_reason)}`,
  "run.cancelled": (data) => `Cancelled ${flat(data.reason)}`,
  "run.warned": (data) => `Warning: ${flat(data.message)}`,
  "step.failed": (data) => `Failed: ${flat(data.error)}`,
  "step.retried": (data) => `Retry ${number(data.attempt)}: ${flat(data.error)}`,
  "model.repaired": (data) => `Reply did not fit, sent back: ${flat(data.error)}`,
  "model.continued": () => "Reply was cut off, continued",
  "model.fell_back": (data) => `${text(data.from_model)} gave up, ${text(data.to_model)} takes over`,
  "budget.exhausted": (data) => `Budget used up: ${text(data.kind)}`,
  "budget.raised": () => "More may be spent",
  "budget.overrun": () => "A call cost more than its worst case",
  "tree.node_failed": (data) => `Failed: ${flat(data.error)}`,
  "studio.department_failed": (data) => `${text(data.name)} failed: ${flat(data.error)}`,
  "council.warning": (data) => flat(data.message),
  "research.worker_failed": (data) => `${text(data.worker)} failed: ${flat(data.error)}`,
  "research.worker_skipped": (data) => `${text(data.worker)} left out: ${flat(data.warning)}`,
  "build.escalated": (data) => `Level ${text(data.level)}: ${flat(data.reason)}`,
};

const ROUTINE: Record<string, (data: Data) => string> = {
  "floor.skipped": (data) => `No direct draft: ${flat(data.reason)}`,
  "step.started": (data) =>
    [text(record(data.about).agent), text(record(data.about).task)].filter(Boolean).join(": ") ||
    text(data.kind, "step"),
  "step.completed": (data) => (data.blob ? "A long result" : flat(data.result)),
  "model.asked": (data) => flat(data.prompt || "A long prompt"),
  "model.attempted": (data) => {
    const charge = record(data.charge);
    const tokens = `${number(charge.input_tokens)} → ${number(charge.output_tokens)} tokens`;
    return `${text(data.model)}: ${data.ok === true ? tokens : flat(data.error)}`;
  },
  "model.cached": (data) => `${text(data.model)}: from the cache`,
};

export function tell(event: LogEvent): Told {
  if (event.type === "run.waiting") return { line: `Asks: ${flat(event.data.question)}`, weight: "person" };
  const result = RESULTS[event.type];
  if (result) return { line: result(event.data), weight: "result" };
  const bad = BAD[event.type];
  if (bad) return { line: bad(event.data), weight: "bad" };
  const routine = ROUTINE[event.type];
  return { line: routine ? routine(event.data) : flat(event.data), weight: "routine" };
}

/** What the activity shows: one line per important event. */
export const isImportant = (event: LogEvent): boolean =>
  event.type in RESULTS || event.type in BAD || event.type === "run.waiting";

export const isError = (event: LogEvent): boolean => event.type in BAD;
