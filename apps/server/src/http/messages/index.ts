import type { PartitionChoice } from "../../dispatch/partition-choice.js";
import type { Clock } from "../../request.js";
import type { CommandRunner } from "../commands/index.js";
import type { Route } from "../route/index.js";
import { offsetRoutes } from "./consumer-offsets.js";
import { PartitionWrites } from "./partition-writes.js";
import { pollRoutes } from "./poll.js";
import { ReplyBudget } from "./reply-budget.js";
import { sendRoute } from "./send.js";
import type { TopicDirectory } from "./topic-access.js";
import { WriteLanes } from "./write-lanes.js";

export interface MessageRoutesDeps {
  readonly runner: CommandRunner;
  readonly directory: TopicDirectory;
  readonly choice: PartitionChoice;
  readonly clock: Clock;
}

/** Routes of messages and of consumer offsets. */
export function messageRoutes({ runner, directory, choice, clock }: MessageRoutesDeps): readonly Route[] {
  const writes = new PartitionWrites(runner, new WriteLanes());
  return [
    sendRoute({ directory, choice, writes, clock }),
    ...pollRoutes({ directory, runner, replies: new ReplyBudget() }),
    ...offsetRoutes({ directory, runner, writes }),
  ];
}
