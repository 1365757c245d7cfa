import { leaderElectionContract } from "./leader-election.contract.ts";
import { describeServers } from "./servers.ts";

describeServers("leader election", (server) => leaderElectionContract(server));
