import { useCallback, useEffect, useRef, useState } from "react";
import { Problem, problemOf } from "../api/client";

export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  again: () => void;
}

/** Something that is asked for once, and again when its key changes. The old value stays until the new one is here. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; problem: Problem | null; loading: boolean }>({
    key: "",
    value: null,
    problem: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ key, value, problem: null, loading: false });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const problem = problemOf(error);
        setState((before) => ({ ...before, key, problem, loading: false }));
      },
    );
    return () => stop.abort();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the function
  }, [key, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  return { value: state.value, problem: state.problem, loading: state.loading, again };
}

/** A value that changes at most so often: a picture of thousands of parts need not be made for every frame. */
export function useCalmly<T>(value: T, everyMs: number): T {
  const [shown, setShown] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (timer.current !== undefined || Object.is(shown, value)) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      setShown(newest.current);
    }, everyMs);
  }, [value, shown, everyMs]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  return shown;
}

/** A moment that moves on, for ages and elapsed times. */
export function useNow(everyMs: number, on = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, on]);
  return now;
}
