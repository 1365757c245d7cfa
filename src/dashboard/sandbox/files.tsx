/** The files of a sandbox: folders on the left, the selected file on the right. Files dropped on a folder are uploaded into it. */
import { useState } from "preact/hooks";
import type { FileEntry } from "#client/files.ts";
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { ConfirmDialog, Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { place, setQuery } from "../route.ts";
import { FileView } from "./file-view.tsx";
import { baseName, foldersTo, joined, parentOf } from "./paths.ts";

export function Files({ sandboxId }: { readonly sandboxId: string }) {
  const folder = place.value.query.get("folder") ?? "/home/user";
  const file = place.value.query.get("file") ?? undefined;
  const { value, error, reload } = useLoaded((signal) => api.files.list(sandboxId, folder, signal), { of: [sandboxId, folder] });
  const [isOver, setOver] = useState(false);
  const [asked, setAsked] = useState<"folder" | "file" | "remove">();
  const open = (entry: FileEntry): void =>
    setQuery(entry.type === "folder" ? { folder: entry.path, file: undefined } : { file: entry.path });
  const upload = async (files: FileList | null): Promise<void> => {
    for (const one of files ?? []) {
      await attempt(() => api.files.write(sandboxId, joined(folder, one.name), one), `${one.name} is uploaded`);
    }
    reload();
  };
  return (
    <div class="files">
      <section
        class={`card ${isOver ? "over" : ""}`}
        aria-label="Folder"
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void upload(event.dataTransfer?.files ?? null);
        }}
      >
        <div class="form">
          <Crumbs folder={folder} />
          <div class="actions">
            <label class="button">
              Upload
              <input class="hidden-visually" type="file" multiple onChange={(event) => void upload(event.currentTarget.files)} />
            </label>
            <button type="button" class="button" onClick={() => setAsked("file")}>
              New file
            </button>
            <button type="button" class="button" onClick={() => setAsked("folder")}>
              New folder
            </button>
          </div>
        </div>
        {error !== undefined && <p class="error">{error}</p>}
        <Entries folder={folder} file={file} entries={value ?? []} isLoaded={value !== undefined} onOpen={open} />
      </section>
      <section class="card" aria-label="File">
        {file === undefined ? (
          <p class="hint">Choose a file to see and edit it, or drop files on the folder to upload them.</p>
        ) : (
          <FileView key={file} sandboxId={sandboxId} path={file} onRemove={() => setAsked("remove")} onSaved={reload} />
        )}
      </section>
      {(asked === "folder" || asked === "file") && (
        <NameDialog
          title={asked === "folder" ? "New folder" : "New file"}
          onClose={() => setAsked(undefined)}
          onName={(name) => {
            const path = joined(folder, name);
            const make = asked === "folder" ? api.files.makeFolder(sandboxId, path) : api.files.write(sandboxId, path, new Uint8Array());
            void attempt(() => make).then(() => reload());
            if (asked === "file") setQuery({ file: path });
            setAsked(undefined);
          }}
        />
      )}
      {asked === "remove" && file !== undefined && (
        <ConfirmDialog
          title={`Remove ${baseName(file)}?`}
          action="Remove"
          onClose={() => setAsked(undefined)}
          onConfirm={() => {
            void attempt(() => api.files.remove(sandboxId, file), "File removed").then(() => reload());
            setQuery({ file: undefined });
            setAsked(undefined);
          }}
        >
          <p class="mono">{file}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function Crumbs({ folder }: { readonly folder: string }) {
  return (
    <nav class="crumbs" aria-label="Path">
      {foldersTo(folder).map(({ name, path }, index) => (
        <span key={path}>
          {index > 1 && "/"}
          <button type="button" onClick={() => setQuery({ folder: path, file: undefined })}>
            {name}
          </button>
        </span>
      ))}
    </nav>
  );
}

interface EntriesProps {
  readonly folder: string;
  readonly file: string | undefined;
  readonly entries: readonly FileEntry[];
  readonly isLoaded: boolean;
  readonly onOpen: (entry: FileEntry) => void;
}

function Entries({ folder, file, entries, isLoaded, onOpen }: EntriesProps) {
  const sorted = [...entries].sort((a, b) => Number(b.type === "folder") - Number(a.type === "folder") || a.path.localeCompare(b.path));
  return (
    <ul class="file-list">
      {folder !== "/" && (
        <li>
          <button type="button" onClick={() => onOpen({ path: parentOf(folder), type: "folder", size: 0 })}>
            <Icon name="up" /> ..
          </button>
        </li>
      )}
      {sorted.map((entry) => (
        <li key={entry.path}>
          <button type="button" aria-current={entry.path === file} onClick={() => onOpen(entry)}>
            <Icon name={entry.type === "folder" ? "folder" : "file"} />
            <span class="cell">{baseName(entry.path)}</span>
            {entry.type === "file" && <span class="size">{bytesText(entry.size)}</span>}
          </button>
        </li>
      ))}
      {isLoaded && entries.length === 0 && <li class="hint">This folder is empty. Drop files here.</li>}
    </ul>
  );
}

interface NameDialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly onName: (name: string) => void;
}

function NameDialog({ title, onClose, onName }: NameDialogProps) {
  const submit = (event: Event): void => {
    event.preventDefault();
    const name = new FormData(event.currentTarget as HTMLFormElement).get("name");
    if (typeof name === "string" && name.trim() !== "") onName(name.trim());
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <label class="field">
          Name
          <input class="input mono" name="name" required autofocus autocomplete="off" />
        </label>
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Make it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
