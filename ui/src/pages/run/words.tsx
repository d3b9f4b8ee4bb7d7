import { api } from "../../api/client";
import { useLoaded } from "../../live/load";
import { Fold } from "../../parts/parts";
import { Value } from "../../parts/value";
import { readable } from "../../parts/words";

const LONG = 200_000;

/** Text that is in the log, or lies beside it because it was long. */
export function Words({ id, text, blob }: { id: string; text: string; blob: number }) {
  const shown = useWords(id, text, blob);
  return (
    <pre className="document" tabIndex={0}>
      {shown || "(nothing)"}
    </pre>
  );
}

/** A reply laid out for reading, and as it came. */
export function Reply({ id, result, blob }: { id: string; result: unknown; blob: number }) {
  const words = useWords(id, readable(result), blob);
  const value = blob ? parsed(words) : result;
  const structured = typeof value === "object" && value !== null;
  return (
    <>
      <Fold title="Reply" open>
        <div className="document" tabIndex={0} role="group" aria-label="What came back">
          {words.length < LONG ? <Value value={value} /> : <pre>{words}</pre>}
        </div>
      </Fold>
      {structured && (
        <Fold title="Raw">
          <pre className="document" tabIndex={0}>
            {readable(value)}
          </pre>
        </Fold>
      )}
    </>
  );
}

function useWords(id: string, text: string, blob: number): string {
  const { value, problem } = useLoaded(`${id}/${blob}`, async (signal) => (blob ? api.blob(id, blob, signal) : ""));
  return blob ? (problem?.message ?? value ?? "…") : text;
}

/** A blob holds JSON or plain text; what cannot be read as the one is the other. */
function parsed(words: string): unknown {
  if (!/^\s*[[{"]/.test(words)) return words;
  try {
    return JSON.parse(words) as unknown;
  } catch {
    return words;
  }
}
