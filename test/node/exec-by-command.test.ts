/** Commands in real containers, through the command line. */
import { describeExecStories } from "../world/exec-stories.ts";
import { UpProcess } from "../world/up-process.ts";

describeExecStories(() => UpProcess.onNewFolder(["base"]));
