/** Shows a file: text in an editor, pictures as pictures, everything else as a download. */
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { download } from "../parts/download.ts";
import { Lazy } from "../parts/lazy.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { type FileKind, fileKindOf } from "./file-kind.ts";
import { baseName } from "./paths.ts";

interface FileViewProps {
  readonly sandboxId: string;
  readonly path: string;
  readonly onRemove: () => void;
  readonly onSaved: () => void;
}

interface Content {
  readonly blob: Blob;
  readonly kind: FileKind;
  readonly text: string;
}

export function FileView({ sandboxId, path, onRemove, onSaved }: FileViewProps) {
  const { value, error } = useLoaded(async (signal): Promise<Content> => contentOf(path, await api.files.read(sandboxId, path, signal)), {
    of: [sandboxId, path],
  });
  const [edited, setEdited] = useState<string>();
  const save = async (): Promise<void> => {
    if (edited === undefined) return;
    const isSaved = await attempt(() => api.files.write(sandboxId, path, new Blob([edited])), "Saved");
    if (isSaved) setEdited(undefined);
    onSaved();
  };
  return (
    <>
      <div class="card-head">
        <h2 class="mono">{baseName(path)}</h2>
        {value !== undefined && <span class="hint">{bytesText(value.blob.size)}</span>}
        <div class="actions">
          {value?.kind === "text" && (
            <button type="button" class="button primary" disabled={edited === undefined} onClick={() => void save()}>
              Save
            </button>
          )}
          <button
            type="button"
            class="button"
            disabled={value === undefined}
            onClick={() => value !== undefined && download(value.blob, baseName(path))}
          >
            Download
          </button>
          <button type="button" class="button danger" onClick={onRemove}>
            Remove
          </button>
        </div>
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.kind === "text" && (
        <Lazy
          load={async () => (await import("../parts/editor.tsx")).Editor}
          props={{ name: path, text: value.text, onChange: setEdited, onSave: () => void save() }}
        />
      )}
      {value?.kind === "picture" && <Picture blob={value.blob} name={baseName(path)} />}
      {value?.kind === "bytes" && <p class="hint">This file is not text, or too long to edit here. Download it to see it.</p>}
    </>
  );
}

async function contentOf(path: string, blob: Blob): Promise<Content> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const kind = fileKindOf(path, bytes);
  return { blob, kind, text: kind === "text" ? new TextDecoder().decode(bytes) : "" };
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([blob], { type: pictureType(name) }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url === undefined ? null : <img src={url} alt={name} style={{ maxWidth: "100%", maxHeight: "100%", objectFit: "contain" }} />;
}

function pictureType(name: string): string {
  const end = name.split(".").at(-1)?.toLowerCase() ?? "";
  return `image/${end === "jpg" ? "jpeg" : end}`;
}
