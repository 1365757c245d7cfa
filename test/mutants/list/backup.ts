/** Backups: what a restore believes, and what it puts into place. */
import { bugsIn, type Mutant } from "../mutant.ts";

const test = ["src/cmd/machine/backup/machine-backups.test.ts"];

export const backupMutants: readonly Mutant[] = [
  bugsIn("src/cmd/machine/backup/unpack-backup.ts", test, [
    ["a file that was changed is restored", 'if (hash.digest("hex") !== sha256)', "if (false)"],
    ["a manifest that was changed is believed", 'if (sum.trim() !== createHash("sha256").update(text).digest("hex")) {', "if (false) {"],
  ]),
  bugsIn("src/cmd/machine/backup/restore-backup.ts", test, [
    ["data that is there is put aside unasked", "if (found.length > 0 && !request.replace) {", "if (false) {"],
    ["a folder is restored under a running server", "if (await isListening(home.socketPath)) throw", "if (false) throw"],
    ["a folder is restored while another process owns its objects", "if (sqliteCode(error) === undefined) throw error;", ""],
  ]),
  bugsIn(
    "src/cmd/machine/backup/manifest.ts",
    ["src/cmd/machine/backup/manifest.test.ts"],
    [
      ["a newer version's backup is restored", "if (format <= backupFormat && !isNewer(version, own)) return;", "return;"],
      ["a file of a backup lands outside of the data folder", " && normalize(path) === path && !path.split", " || !path.split"],
    ],
  ),
  bugsIn("src/cmd/machine/backup/copy-databases.ts", test, [
    ["a database is copied under the process that owns it", '"PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT;"', '""'],
  ]),
].flat();
