import { maybe, number, record, text, texts, type LogEvent } from "./events";

export interface Idea {
  id: string;
  title: string;
  description: string;
  category: string;
  round: number;
  /** Ids of the ideas that it improves or joins. */
  refines: string[];
  /** 1 until it is revised; title and description are those of the last version. */
  version: number;
  score: number | null;
  criteria: Record<string, number>;
  pros: string[];
  cons: string[];
  feedback: string;
}

export interface Contribution {
  id: string;
  /** The step that it came out of; empty: unknown. */
  path: string;
  round: number;
  from: string;
  kind: string;
  content: string;
}

/** Rounds, who said what in them, and the ideas with their scores. */
export class CouncilFold {
  readonly kind = "council";
  readonly said: Contribution[] = [];
  readonly ideas = new Map<string, Idea>();
  readonly phases: { phase: string; round: number }[] = [];
  team: string[] = [];
  minScore = 0;
  minIdeas = 0;
  selected: { id: string; title: string; reasoning: string } | null = null;

  private readonly asked = new Map<string, string>();

  apply({ type, data, path }: LogEvent): void {
    const round = number(data.round);
    switch (type) {
      case "step.started":
        if (data.kind === "ask") this.asked.set(`${above(path)} ${text(record(data.about).role)}`, path);
        break;
      case "council.phase":
        this.phases.push({ phase: text(data.phase), round });
        if (texts(data.team).length > 0) this.team = texts(data.team);
        this.minScore = number(data.min_score, this.minScore);
        this.minIdeas = number(data.min_ideas, this.minIdeas);
        break;
      case "council.message":
        this.said.push({
          id: text(data.id),
          path: this.asked.get(`${path} ${text(data.from)}`) ?? "",
          round,
          from: text(data.from),
          kind: text(data.type),
          content: text(data.content),
        });
        break;
      case "council.idea_added":
        this.ideas.set(text(data.id), {
          id: text(data.id),
          title: text(data.title),
          description: text(data.description),
          category: text(data.category),
          round,
          refines: typeof data.refines === "string" ? [data.refines] : texts(data.refines),
          version: 1,
          score: null,
          criteria: {},
          pros: [],
          cons: [],
          feedback: "",
        });
        break;
      case "council.idea_revised":
        this.revise(data);
        break;
      case "council.idea_scored":
        this.score(data);
        break;
      case "council.selected":
        this.selected = { id: text(data.id), title: text(data.title), reasoning: text(data.reasoning) };
        break;
    }
  }

  /** Scored ideas first, best on top; the rest in the order in which they came. */
  ranked(): Idea[] {
    return [...this.ideas.values()].sort((one, other) => (other.score ?? -1) - (one.score ?? -1));
  }

  rounds(): number[] {
    const known = new Set([...this.phases.map((one) => one.round), ...this.said.map((one) => one.round)]);
    return [...known].sort((one, other) => one - other);
  }

  private revise(data: LogEvent["data"]): void {
    const idea = this.ideas.get(text(data.id));
    if (!idea) return;
    idea.title = text(data.title);
    idea.description = text(data.description);
    idea.version = number(data.version, idea.version + 1);
  }

  private score(data: LogEvent["data"]): void {
    const idea = this.ideas.get(text(data.id));
    if (!idea) return;
    idea.score = maybe(data.score);
    idea.criteria = Object.fromEntries(Object.entries(record(data.criteria)).map(([name, of]) => [name, number(of)]));
    idea.pros = texts(data.pros);
    idea.cons = texts(data.cons);
    idea.feedback = text(data.feedback);
  }
}

const above = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
