import type { LogEvent } from "../../api/client";

/** The line of an event as the terminal shows it; an event without one is shown as data. */
export function EventLine({ event }: { event: LogEvent }) {
  const { line } = event;
  if (!line) return <span className="cut grow quiet">{`${event.type} ${JSON.stringify(event.data)}`}</span>;
  return (
    <>
      <span className="mark" aria-hidden style={{ marginLeft: line.indent * 14 }}>
        {line.mark}
      </span>
      <span className="words grow">{line.text}</span>
      {line.notes.length > 0 && <span className="notes num quiet">{line.notes.join(" · ")}</span>}
    </>
  );
}

export const weightOf = ({ line }: LogEvent): string => line?.weight ?? "routine";

/** Return whether the activity list shows an event: all that the terminal shows while a run is under way. */
export const isActivity = (event: LogEvent): boolean => weightOf(event) !== "trace" || event.type.startsWith("run.");

export const isImportant = (event: LogEvent): boolean =>
  ["result", "warning", "failure", "attention"].includes(weightOf(event)) || event.type.startsWith("run.");

export const isTrouble = (event: LogEvent): boolean => ["warning", "failure"].includes(weightOf(event));
