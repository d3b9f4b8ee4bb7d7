import type { LogEvent } from "./events";
import { BuildFold } from "./build";
import { CouncilFold } from "./council";
import { ResearchFold } from "./research";
import { StudioFold } from "./studio";
import { TreeFold } from "./tree";

export type Detail = TreeFold | StudioFold | CouncilFold | ResearchFold | BuildFold;

export interface Folds {
  apply(event: LogEvent): void;
}

/** The fold of what one workflow tells beyond steps; none for one's own workflows. */
export function detailFor(workflow: string): Detail | null {
  switch (workflow) {
    case "tree":
      return new TreeFold();
    case "studio":
      return new StudioFold();
    case "council":
      return new CouncilFold();
    case "research":
      return new ResearchFold();
    case "build":
      return new BuildFold();
    default:
      return null;
  }
}
