import { api, files, type Artifact, type RunView } from "../../api/client";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Bones, Card, Empty, ProblemNote } from "../../parts/parts";
import { size } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";

const REPORT = "report";
const TEXT = /^(text\/(plain|markdown|csv|x-.*)|application\/json)/;
const MOST = 400_000;

export const newestFirst = ({ artifacts }: RunView): Artifact[] =>
  Object.values(artifacts).sort((a, b) => b.seq - a.seq);

export function ArtifactsTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const artifacts = newestFirst(live.view);
  const chosen = place.query.get("file") ?? REPORT;
  const artifact = artifacts.find(({ id }) => id === chosen);
  const pick = (id: string): void => go(withQuery(place, { tab: "artifacts", file: id }), true);
  return (
    <div className="files">
      <Card title="Files" flush>
        <ul className="picks">
          <li>
            <button className="pick" aria-pressed={!artifact} onClick={() => pick(REPORT)}>
              <Icon name="file" />
              <span className="grow cut">Report of this run</span>
            </button>
          </li>
          {artifacts.map(({ id, seq, name, branch, bytes }) => (
            <li key={seq}>
              <button className="pick" aria-pressed={artifact?.seq === seq} onClick={() => pick(id)}>
                <Icon name="file" />
                <span className="grow">
                  <span className="cut block">{name}</span>
                  <span className="quiet small cut block">{branch || "the run itself"}</span>
                </span>
                <span className="num quiet">{size(bytes)}</span>
              </button>
            </li>
          ))}
        </ul>
      </Card>
      {artifact ? (
        <ArtifactCard id={live.id} artifact={artifact} key={artifact.id} />
      ) : (
        <Card
          title="Report"
          flush
          aside={
            <span className="row">
              <a className="button" href={files.report(live.id)} target="_blank" rel="noreferrer">
                Open
              </a>
              <a className="button" href={files.reportAs(live.id, "md")} download={`${live.id}.md`}>
                <Icon name="down" />
                Markdown
              </a>
            </span>
          }
        >
          <iframe
            className="report"
            title="Report"
            sandbox=""
            src={`${files.report(live.id)}&seq=${live.over ? live.lastSeq : 0}`}
          />
        </Card>
      )}
    </div>
  );
}

function ArtifactCard({ id, artifact }: { id: string; artifact: Artifact }) {
  return (
    <Card
      title={artifact.name}
      flush
      aside={
        <a className="button" href={files.artifact(id, artifact.id)} download={artifact.name}>
          <Icon name="down" />
          Save
        </a>
      }
    >
      <Content id={id} artifact={artifact} />
    </Card>
  );
}

/** Pages come in a frame that may do nothing, text as text; everything else can only be saved. */
function Content({ id, artifact }: { id: string; artifact: Artifact }) {
  if (TEXT.test(artifact.media_type)) return <Text id={id} artifact={artifact} />;
  if (artifact.media_type.startsWith("text/html") || artifact.media_type.startsWith("application/pdf")) {
    return <iframe className="report" title={artifact.name} sandbox="" src={files.shown(id, artifact.id)} />;
  }
  if (/^image\/(png|jpeg|gif|webp)/.test(artifact.media_type))
    return <img className="picture" src={files.shown(id, artifact.id)} alt={artifact.name} />;
  return <Empty title="This kind of file is not shown here.">Save it to look at it.</Empty>;
}

function Text({ id, artifact }: { id: string; artifact: Artifact }) {
  const { value, problem } = useLoaded(`${id}/${artifact.id}`, (signal) => api.artifactText(id, artifact.id, signal));
  if (problem)
    return (
      <div className="body">
        <ProblemNote problem={problem} />
      </div>
    );
  if (value === null) return <Bones />;
  return (
    <pre className="document" tabIndex={0}>
      {value.length > MOST ? `${value.slice(0, MOST)}\n… save the file to read the rest` : value}
    </pre>
  );
}
