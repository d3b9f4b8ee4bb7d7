import { useEffect, useRef, useState } from "react";
import { api, problemOf, type ChatView, type Problem } from "../../api/client";
import type { LiveRun } from "../../live/run";
import { Bones, Card, ProblemNote } from "../../parts/parts";
import { Messages, useMessages } from "./messages";

const END = "/end";

/** A conversation as it grows, and a box for the next message. */
export function Chat({ live, chat }: { live: LiveRun; chat: ChatView }) {
  const { value, problem } = useMessages(live);
  const box = useRef<HTMLDivElement>(null);
  const written = [...live.typing.values()].at(-1) ?? "";
  const talk = value?.conversations[0];
  const length = talk?.messages.length;
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [length, written]);
  return (
    <Card title="Conversation" flush>
      <div className="chat" ref={box} tabIndex={0} role="log" aria-label="Messages">
        {problem && !value && <ProblemNote problem={problem} />}
        {!value && !problem && <Bones rows={3} />}
        {talk && <Messages talk={talk} system={false} />}
        {live.status === "running" && <p className="message assistant quiet prose">{written || "Working…"}</p>}
      </div>
      {!live.over && <Box key={chat.next} live={live} chat={chat} />}
    </Card>
  );
}

function Box({ live, chat }: { live: LiveRun; chat: ChatView }) {
  const [words, setWords] = useState("");
  const [sent, setSent] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const { next = "", failure } = chat;
  const ready = next !== "" && !sent;
  useEffect(() => {
    if (next) field.current?.focus({ preventScroll: true });
  }, [next]);
  const send = (text: string): void => {
    if (!ready || !text.trim()) return;
    setSent(true);
    setProblem(null);
    api.answer(live.id, text, next).catch((error: unknown) => {
      setSent(false);
      setProblem(problemOf(error));
    });
  };
  return (
    <form
      className="chat-box"
      onSubmit={(event) => {
        event.preventDefault();
        send(words);
      }}
    >
      {failure && <p className="warn">{failure}</p>}
      {problem && <ProblemNote problem={problem} />}
      <textarea
        ref={field}
        rows={2}
        aria-label="Your message"
        placeholder="Your message"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send(words);
        }}
      />
      <div className="row">
        <button className="primary" disabled={!ready || !words.trim()}>
          Send
        </button>
        <span className="grow" />
        <button type="button" className="plain" disabled={!ready} onClick={() => send(END)}>
          End the conversation
        </button>
      </div>
    </form>
  );
}
