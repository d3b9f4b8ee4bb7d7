import { useEffect, useRef, type ReactNode } from "react";
import type { Problem } from "../api/client";
import { Icon } from "./icons";

/** A workflow by its name and a small glyph, which is the general one where it has none of its own. */
export function Glyph({ workflow }: { workflow: string }) {
  const name = workflow.slice(workflow.lastIndexOf(":") + 1);
  return (
    <span className="glyph">
      <Icon name={workflow} />
      {name}
    </span>
  );
}

const WORDS: Record<string, string> = { waiting: "needs you" };

/** Icon, word and colour: never colour alone. */
export function StatusMark({ status }: { status: string }) {
  return (
    <span className={`status ${status}`}>
      <Icon name={status} />
      {WORDS[status] ?? status}
    </span>
  );
}

/** Budget bar: spent is solid, reserved is hatched, the end of the bar is the ceiling. */
export function Meter({
  spent,
  reserved = 0,
  ceiling,
  label,
  thin = false,
}: {
  spent: number;
  reserved?: number;
  ceiling: number;
  label: string;
  thin?: boolean;
}) {
  const part = ceiling > 0 ? Math.min(1, spent / ceiling) : 1;
  const held = ceiling > 0 ? Math.min(1 - part, reserved / ceiling) : 0;
  return (
    <div
      className={thin ? "meter thin" : "meter"}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(ceiling, 0)}
      aria-valuenow={Math.min(spent, ceiling)}
    >
      <i className={part >= 1 ? "full" : part > 0.8 ? "near" : ""} style={{ width: `${part * 100}%` }} />
      <b style={{ width: `${held * 100}%` }} />
    </div>
  );
}

export function ProblemNote({ problem, again }: { problem: Problem; again?: () => void }) {
  return (
    <div className="note bad" role="alert">
      <Icon name="warn" />
      <div className="grow">
        <strong>{problem.message}</strong>
        {problem.hint && <div>{problem.hint}</div>}
        {problem.problems.length > 1 && (
          <ul>
            {problem.problems.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
      </div>
      {problem.status === 401 ? (
        <button onClick={() => location.reload()}>Sign in</button>
      ) : (
        again && <button onClick={again}>Try again</button>
      )}
    </div>
  );
}

/** The shape of what is coming, while it is read. */
export function Bones({ rows = 6 }: { rows?: number }) {
  return (
    <div className="bones" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} style={{ width: `${92 - ((index * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Card({
  title,
  aside,
  children,
  flush = false,
}: {
  title: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  flush?: boolean;
}) {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
        <span className="grow" />
        {aside}
      </header>
      {flush ? children : <div className="body">{children}</div>}
    </section>
  );
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = element.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={element} onCancel={close} aria-label={title}>
      <div className="body">
        <div className="row">
          <h1 className="grow">{title}</h1>
          <button className="plain" onClick={close} aria-label="Close">
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

/** A part that is opened on demand. */
export function Disclosure({
  title,
  open = false,
  children,
}: {
  title: ReactNode;
  open?: boolean;
  children: ReactNode;
}) {
  return (
    <details className="fold" open={open}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
