import { Disclosure } from "../../parts/parts";
import { Value } from "../../parts/value";
import { readable } from "../../parts/words";

const LONG = 200_000;

/** A reply laid out for reading, and as it came. */
export function Reply({ result }: { result: unknown }) {
  const text = readable(result);
  return (
    <>
      <Disclosure title="Reply" open>
        <div className="document" tabIndex={0} role="group" aria-label="Reply of the step">
          {text.length < LONG ? <Value value={result} /> : <pre>{text}</pre>}
        </div>
      </Disclosure>
      {typeof result === "object" && result !== null && (
        <Disclosure title="Raw">
          <pre className="document" tabIndex={0}>
            {text}
          </pre>
        </Disclosure>
      )}
    </>
  );
}
