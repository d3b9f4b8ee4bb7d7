import type { components } from "./types";

type Schemas = components["schemas"];
export type RunSummary = Schemas["RunSummary"];
export type RunPage = Schemas["RunPage"];
export type Workflow = Schemas["Workflow"];
export type Option = Schemas["Option"];
export type StepDetail = Schemas["StepDetail"];
export type Models = Schemas["Models"];
export type Estimate = Schemas["Estimate"];
export type Fact = Schemas["Fact"];
export type FactDetail = Schemas["FactDetail"];
export type Me = Schemas["Me"];
export type Waiting = Schemas["Waiting"];
export type Project = Schemas["Project"];
export type Learnt = Schemas["Learnt"];
export type Checks = Schemas["Checks"];
export type LogEvent = Schemas["Event"];
export type RunView = Schemas["RunView"];
export type Usage = Schemas["ViewUsage"];
export type Question = Schemas["ViewQuestion"];
export type Artifact = Schemas["ViewArtifact"];
export type Grade = Schemas["ViewGrade"];
export type TreeView = Schemas["TreeView"];
export type StudioView = Schemas["StudioView"];
export type Department = Schemas["StudioViewDepartment"];
export type Specialist = Schemas["StudioViewSpecialist"];
export type CouncilView = Schemas["CouncilView"];
export type Idea = Schemas["CouncilViewIdea"];
export type ResearchView = Schemas["ResearchView"];
export type Worker = Schemas["ResearchViewWorker"];
export type BuildView = Schemas["BuildView"];
export type ChatView = Schemas["ChatView"];
export type Talk = Schemas["ShownConversation"];
export type Message = Schemas["ShownMessage"];
export type Call = Schemas["ShownCall"];
export type BuildStep = Schemas["BuildViewStep"];

/** Error response of the server: one sentence and a hint. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint = "",
    readonly problems: readonly string[] = [],
  ) {
    super(message);
  }
}

/** Return the message for any error. */
export const problemOf = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(0, String(error));

async function ask(path: string, method: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: { "X-Podium": "ui", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "The server cannot be reached.", "Is `podium serve` still running? Nothing is lost.");
  }
  if (!response.ok) throw await problemIn(response);
  return response;
}

async function problemIn(response: Response): Promise<Problem> {
  try {
    const { error, hint, problems } = (await response.json()) as Schemas["Problem"];
    return new Problem(response.status, error, hint, problems);
  } catch {
    return new Problem(response.status, `The server answered ${response.status}.`);
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, "GET", undefined, signal)).json()) as T;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return (await (await ask(path, "POST", body)).json()) as T;
}

const run = (id: string): string => `/api/runs/${encodeURIComponent(id)}`;
const project = (name: string): string => `/api/brain/projects/${encodeURIComponent(name)}`;

export const api = {
  runs: (query: URLSearchParams, signal?: AbortSignal) => get<RunPage>(`/api/runs?${query}`, signal),
  run: (id: string, signal?: AbortSignal) => get<Schemas["RunDetail"]>(run(id), signal),
  events: (id: string, after: number, limit: number, signal?: AbortSignal) =>
    get<Schemas["EventPage"]>(`${run(id)}/events?after=${after}&limit=${limit}`, signal),
  view: (id: string, signal?: AbortSignal) => get<{ seq: number; view: RunView }>(`${run(id)}/view`, signal),
  step: (id: string, path: string, signal?: AbortSignal) =>
    get<StepDetail>(`${run(id)}/step?path=${encodeURIComponent(path)}`, signal),
  messages: (id: string, path: string, signal?: AbortSignal) =>
    get<Schemas["RunMessages"]>(`${run(id)}/messages?path=${encodeURIComponent(path)}`, signal),
  artifactText: async (id: string, artifact: string, signal?: AbortSignal) =>
    (await ask(`${run(id)}/artifacts/${encodeURIComponent(artifact)}`, "GET", undefined, signal)).text(),
  start: (body: unknown) => post<RunSummary>("/api/runs", body),
  answer: (id: string, answer: unknown, question: string) => post(`${run(id)}/answer`, { answer, question }),
  cancel: (id: string) => post<RunSummary>(`${run(id)}/cancel`, {}),
  pause: (id: string) => post<RunSummary>(`${run(id)}/pause`, {}),
  resume: (id: string, body: unknown) => post<RunSummary>(`${run(id)}/resume`, body),
  fork: (id: string, body: unknown) => post<RunSummary>(`${run(id)}/fork`, body),
  workflows: (signal?: AbortSignal) => get<{ workflows: Workflow[] }>("/api/workflows", signal),
  estimate: (name: string, body: unknown) => post<Estimate>(`/api/workflows/${name}/estimate`, body),
  models: (signal?: AbortSignal) => get<Models>("/api/models", signal),
  checks: (signal?: AbortSignal) => get<Checks>("/api/doctor", signal),
  teams: (signal?: AbortSignal) => get<{ teams: string[] }>("/api/teams", signal),
  team: (name: string, signal?: AbortSignal) => get<Team>(`/api/teams/${name}`, signal),
  teamStats: (name: string, rehearsals: boolean, signal?: AbortSignal) =>
    get<{ agents: Learnt[] }>(`/api/teams/${name}/stats?rehearsals=${rehearsals}`, signal),
  projects: (signal?: AbortSignal) => get<{ projects: Project[] }>("/api/brain/projects", signal),
  facts: (name: string, signal?: AbortSignal) => get<{ facts: Fact[] }>(`${project(name)}/facts`, signal),
  waiting: (name: string, signal?: AbortSignal) => get<Waiting>(`${project(name)}/review`, signal),
  review: (name: string, body: unknown) => post<Schemas["Reviewed"]>(`${project(name)}/review`, body),
  fact: (name: string, id: string, signal?: AbortSignal) =>
    get<FactDetail>(`${project(name)}/facts/${encodeURIComponent(id)}`, signal),
  forget: async (name: string, id: string) => ask(`${project(name)}/facts/${encodeURIComponent(id)}`, "DELETE"),
  me: (signal?: AbortSignal) => get<Me>("/api/me", signal),
  health: (signal?: AbortSignal) => get<Schemas["Health"]>("/api/health", signal),
  ready: (signal?: AbortSignal) => get<Schemas["Readiness"]>("/api/ready", signal),
  signOut: async () => ask("/api/session", "DELETE"),
};

export const files = {
  report: (id: string) => `${run(id)}/report?format=html`,
  reportAs: (id: string, format: string) => `${run(id)}/report?format=${format}`,
  artifact: (id: string, artifact: string) => `${run(id)}/artifacts/${encodeURIComponent(artifact)}`,
  shown: (id: string, artifact: string) => `${run(id)}/artifacts/${encodeURIComponent(artifact)}?inline=true`,
};

export interface Member {
  readonly name: string;
  readonly skills: readonly string[];
  readonly instructions: string;
  readonly passing_threshold: number | null;
}

export interface Team {
  readonly name: string;
  readonly description: string;
  readonly departments: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly depends_on: readonly string[];
        readonly min_quality_threshold: number | null;
        readonly head: Member;
        readonly specialists: Readonly<Record<string, Member>>;
      }
    >
  >;
}
