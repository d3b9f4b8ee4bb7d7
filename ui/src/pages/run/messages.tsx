import { api, type Call, type Message, type Talk } from "../../api/client";
import { useCalmly, useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Bones, Disclosure, Empty, ProblemNote } from "../../parts/parts";
import { many, money, oneLine, readable, size, span } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";

const LONG = 600;
const SHORTEST_S = 0.05;

/** The messages of a run, of one turn or of one call, read again while the run goes on. */
export function useMessages(live: LiveRun, path = "") {
  const seq = useCalmly(live.lastSeq, 400);
  return useLoaded(`${live.id} ${path} ${seq}`, (signal) => api.messages(live.id, path, signal));
}

/** All conversations of a run. */
export function Conversations({ live }: { live: LiveRun }) {
  const { value, problem } = useMessages(live);
  if (problem && !value) return <ProblemNote problem={problem} />;
  if (!value) return <Bones />;
  const { conversations, left_out } = value;
  if (conversations.length === 0) return <Empty title="Nothing was said yet." />;
  return (
    <>
      {left_out && <p className="quiet small body">{many(left_out, "earlier message")} left out.</p>}
      {conversations.map((talk) => (
        <section key={talk.path} className="talk">
          <h2>{talk.title}</h2>
          <Messages talk={talk} />
        </section>
      ))}
    </>
  );
}

export function Messages({ talk, system = true }: { talk: Talk; system?: boolean }) {
  return (
    <ol className="messages">
      {talk.messages.map((message, index) =>
        message.role === "system" && !system ? null : <OneMessage key={index} message={message} />,
      )}
    </ol>
  );
}

function OneMessage({ message }: { message: Message }) {
  const { role, who, text, cost_usd, files = [], calls = [] } = message;
  const folded = role === "system" || role === "summary";
  return (
    <li className={`message ${role}`}>
      <div className="row small">
        <strong>{who}</strong>
        {cost_usd ? <span className="num quiet">{money(cost_usd)}</span> : null}
      </div>
      {text && <LongText text={text} folded={folded} />}
      {files.map((file) => (
        <p key={file.blob} className="quiet small">
          {file.name} · {file.media_type} · {size(file.size)}
        </p>
      ))}
      {calls.map((call) => (
        <OneCall key={call.number} call={call} />
      ))}
    </li>
  );
}

/** A tool call on one line; its arguments and its result are opened on demand. */
export function OneCall({ call, open = false }: { call: Call; open?: boolean }) {
  const place = usePlace();
  const { path, state, decision, seconds = 0, cost_usd, result, call_id } = call;
  return (
    <details className="call" open={open}>
      <summary>
        <code className="grow">{call.words}</code>
        <span className={`state ${state.replace(" ", "-")}`}>{state}</span>
        {decision && <span className="small">{decision}</span>}
        {seconds >= SHORTEST_S && <span className="num quiet">{span(seconds)}</span>}
        {cost_usd ? <span className="num quiet">{money(cost_usd)}</span> : null}
        {result && <span className="quiet cut gist">{result}</span>}
      </summary>
      <div className="stack">
        <pre className="document">{readable(call.arguments)}</pre>
        {result && <LongText text={result} />}
        {(path || call_id) && (
          <p className="row wrap small quiet mono">
            {path && (
              <button className="link" onClick={() => go(withQuery(place, { step: path }), true)}>
                {path}
              </button>
            )}
            {call_id && <span>call {call_id}</span>}
          </p>
        )}
      </div>
    </details>
  );
}

function LongText({ text, folded = text.length > LONG }: { text: string; folded?: boolean }) {
  if (!folded) return <p className="prose">{text}</p>;
  return (
    <Disclosure title={oneLine(text, 90)}>
      <pre className="document" tabIndex={0}>
        {text}
      </pre>
    </Disclosure>
  );
}
