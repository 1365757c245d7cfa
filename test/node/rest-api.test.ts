/** The page about the API against the whole product with real containers. */
import { describeRestExamples } from "../world/rest-examples.ts";
import { UpProcess } from "../world/up-process.ts";

describeRestExamples(() => UpProcess.onNewFolder());
