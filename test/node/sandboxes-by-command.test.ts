/** The same from the command line. */
import { describeCommandLineStories } from "../world/command-line-stories.ts";
import { UpProcess } from "../world/up-process.ts";

describeCommandLineStories(() => UpProcess.onNewFolder());
